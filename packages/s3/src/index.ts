export { S3Error } from "./error.js";
export { type S3Credentials, S3OptionsError, type S3OptionsProblem, type S3StoreOptions } from "./options.js";
export { createS3Store, type S3Store } from "./store.js";
