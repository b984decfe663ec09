import { describeCases } from "./describe-cases.js";

describeCases(({ silenceMs }) => silenceMs === undefined);
