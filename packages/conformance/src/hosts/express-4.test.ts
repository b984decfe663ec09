import express4 from "express4";
import { describeAdapter } from "../adapter-suite.js";
import { createExpressHost } from "./express-host.js";

describeAdapter({ ...createExpressHost("Express 4", express4), sharesAdapter: true });
