import express from "express";
import express4 from "express4";
import Koa from "koa";
import Koa2 from "koa2";
import type { AdapterHost } from "../adapter-suite/adapter-host.ts";
import { createExpressHost } from "./express-host.ts";
import { createKoaHost } from "./koa-host.ts";

/** The hosts that serve from this process. */
export const FRAMEWORKS: readonly AdapterHost[] = [
  createExpressHost("Express 4", express4),
  createExpressHost("Express 5", express),
  createKoaHost("Koa 2", Koa2),
  createKoaHost("Koa 3", Koa),
];
