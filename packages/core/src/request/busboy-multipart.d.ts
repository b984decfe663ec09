declare module "busboy/lib/types/multipart.js" {
  import type { Busboy, Limits } from "busboy";

  /** The parser of `multipart/form-data`, without the other parser and the check of the header that `busboy` has. */
  const Multipart: new (config: {
    readonly conType: { readonly params: { readonly boundary: string } };
    readonly defParamCharset: string;
    readonly limits: Limits;
  }) => Busboy;
  export default Multipart;
}
