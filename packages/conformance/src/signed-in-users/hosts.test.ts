import { useProviders } from "../support/use-providers.js";
import { SIGN_IN_APPS } from "./apps.js";
import { describeSignIn } from "./describe-sign-in.js";

const providers = useProviders({ images: "tiny", millisecondsPerImage: 50 });

for (const app of SIGN_IN_APPS) describeSignIn(app, providers);
