import Koa from "koa";
import { describeAdapter } from "../adapter-suite.js";
import { createKoaHost } from "./koa-host.js";

describeAdapter(createKoaHost("Koa 3", Koa));
