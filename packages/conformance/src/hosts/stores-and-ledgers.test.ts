import { describeStores } from "../results/describe-stores.js";
import { describeTaskLedgers } from "../tasks/describe-task-ledgers.js";
import { useEveryHost } from "./every-host.js";

// In one file, because the build of the Next.js app takes long.
const hosts = useEveryHost(".next-hosts");
describeStores(hosts);
describeTaskLedgers(hosts);
