import Koa2 from "koa2";
import { describeAdapter } from "../adapter-suite.js";
import { createKoaHost } from "./koa-host.js";

describeAdapter({ ...createKoaHost("Koa 2", Koa2), sharesAdapter: true });
