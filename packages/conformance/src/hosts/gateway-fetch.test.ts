import { describeAdapter } from "../adapter-suite.js";
import { sendByFetch } from "../support/send-by-fetch.js";

describeAdapter({
  name: "gateway.fetch",
  befores: [],
  hasSocket: false,
  hasMountPaths: false,
  otherPaths: "gateway-404",
  async mount(gateway) {
    return { url: "", send: (call) => sendByFetch(gateway, call), close: async () => {} };
  },
});
