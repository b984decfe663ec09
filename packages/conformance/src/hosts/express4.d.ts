// Express 4 under another name. It uses the types of version 5, because the suite calls only functions that
// are the same.
declare module "express4" {
  export { default } from "express";
}
