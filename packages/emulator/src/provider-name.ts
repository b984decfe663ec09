/** `ark`: Volcengine Ark, the Seedream models. `dashscope`: Alibaba Cloud DashScope, the Qwen-Image models. */
export type ProviderName = "ark" | "dashscope";
