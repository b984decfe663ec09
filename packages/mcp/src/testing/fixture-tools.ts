import { type CallToolResult, fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = (value: string) => ({ type: "text", text: value }) as const;
const image = { type: "image", data: PNG, mimeType: "image/png" } as const;
const toResource = (uri: string, mimeType: string, value: string) =>
  ({ type: "resource", resource: { uri, mimeType, text: value } }) as const;

const RESULTS: Readonly<Record<string, CallToolResult["content"]>> = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [image],
  test_audio_content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  test_embedded_resource: [
    toResource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    image,
    toResource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ],
};

/** Adds the tools that the scenarios of the conformance suite of MCP call. `conformance list --verbose` describes them. */
export function addFixtureTools(server: McpServer): void {
  for (const [name, content] of Object.entries(RESULTS)) {
    server.registerTool(name, { description: "Returns content." }, async () => ({ content: [...content] }));
  }
  server.registerTool("test_error_handling", { description: "Fails." }, async () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool(
    "test_tool_with_progress",
    { description: "Reports its progress." },
    async ({ mcpReq }) => {
      // oxlint-disable-next-line no-underscore-dangle -- A name of the protocol.
      const progressToken = mcpReq._meta?.progressToken ?? 0;
      for (const progress of [0, 50, 100]) {
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
      }
      return { content: [text("Done.")] };
    },
  );
  server.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Tool with JSON Schema 2020-12 features",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
        additionalProperties: false,
      }),
    },
    async () => ({ content: [text("Done.")] }),
  );
}
