// Koa 2 under another name. It uses the types of version 3, because the suite calls only functions that are
// the same.
declare module "koa2" {
  export { default } from "koa";
}
