// Version 4 under another name. Types exist for version 5 only; what the suite calls is the same in both.
declare module "express4" {
  export { default } from "express";
}
