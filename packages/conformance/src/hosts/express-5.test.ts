import express from "express";
import { describeAdapter } from "../adapter-suite.js";
import { createExpressHost } from "./express-host.js";

describeAdapter(createExpressHost("Express 5", express));
