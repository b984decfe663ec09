// Version 2 under another name. Types exist for version 3 only; what the suite calls is the same in both.
declare module "koa2" {
  export { default } from "koa";
}
