import { describeAdmissionStore } from "../admission-suite.js";
import { describeWithService } from "../support/needs-service.js";
import { openRedisStore, REDIS, useIoredis, useNodeRedis } from "../support/redis-service.js";

await describeWithService(REDIS, (url) => {
  const [client, cleaner] = [useNodeRedis(url), useIoredis(url)];
  describeAdmissionStore("on Redis by node-redis", openRedisStore(client, cleaner));
});
