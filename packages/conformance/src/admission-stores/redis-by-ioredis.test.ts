import { describeAdmissionStore } from "../admission-suite.js";
import { describeWithService } from "../support/needs-service.js";
import { openRedisStore, REDIS, useIoredis } from "../support/redis-service.js";

await describeWithService(REDIS, (url) => {
  const client = useIoredis(url);
  describeAdmissionStore("on Redis by ioredis", openRedisStore(client, client));
});
