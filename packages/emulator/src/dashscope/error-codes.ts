import { type ErrorFacts, fact } from "../error-facts.js";

const overdue = "Access denied, please make sure your account is in good standing.";
const throttled = "Requests throttling triggered.";

/** All codes of DashScope's image API, each with its HTTP status and its message, unless a more specific one is sent. */
export const dashscopeErrors = {
  InvalidParameter: fact(
    400,
    "Required parameter(s) missing or invalid, please check the request parameters.",
  ),
  "InvalidParameter.DataInspection": fact(
    400,
    "Unable to download the media resource during the data inspection process.",
  ),
  DataInspectionFailed: fact(400, "Input or output data may contain inappropriate content."),
  InvalidURL: fact(400, "The request URL is invalid, please check the request URL."),
  "BadRequest.EmptyInput": fact(400, "Required input parameter missing from request."),
  UnsupportedOperation: fact(400, "The operation is not supported in the state of the task."),
  Arrearage: fact(400, overdue),
  InvalidApiKey: fact(401, "Invalid API-key provided."),
  AccessDenied: fact(403, "Access denied."),
  "AccessDenied.Unpurchased": fact(403, "Access to model denied. Please make sure you have purchased it."),
  "Model.AccessDenied": fact(403, "Model access denied."),
  "AllocationQuota.FreeTierOnly": fact(403, "The free tier of the model has been exhausted."),
  ModelNotFound: fact(404, "Model not exist."),
  RequestTimeOut: fact(408, "Request timed out, please try again later."),
  "BadRequest.TooLarge": fact(413, "Payload Too Large"),
  "BadRequest.InputDownloadFailed": fact(415, "Failed to download the input file."),
  "BadRequest.UnsupportedFileFormat": fact(415, "The format of the input file is not supported."),
  Throttling: fact(429, throttled),
  "Throttling.RateQuota": fact(429, "Requests rate limit exceeded, please try again later."),
  "Throttling.AllocationQuota": fact(429, "Allocated quota exceeded, please increase your quota limit."),
  LimitRequests: fact(429, "You exceeded your current requests limit."),
  PrepaidBillOverdue: fact(429, "The prepaid bill is overdue."),
  PostpaidBillOverdue: fact(429, "The postpaid bill is overdue."),
  CommodityNotPurchased: fact(429, "Commodity has not been purchased yet."),
  InternalError: fact(500, "An internal error has occurred, please try again later."),
  "InternalError.Timeout": fact(500, "An internal timeout error has occurred during execution."),
  SystemError: fact(500, "A system error has occurred, please try again later."),
  ModelUnavailable: fact(503, "Model is unavailable, please try again later."),
} as const satisfies Readonly<Record<string, ErrorFacts>>;

/** A documented error code of Alibaba Cloud DashScope. */
export type DashscopeErrorCode = keyof typeof dashscopeErrors;

export function isDashscopeErrorCode(code: string): code is DashscopeErrorCode {
  return Object.hasOwn(dashscopeErrors, code);
}
