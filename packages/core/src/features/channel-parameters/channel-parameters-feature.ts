import * as z from "zod/mini";
import type { ChannelOptions, FieldChanges } from "../../channels/channel.js";
import type { Dialect } from "../../families/dialect.js";
import type { Feature } from "../../kernel/feature.js";
import { findTypeProblems, throwProblems } from "../../options/problems.js";
import { name, names } from "../../options/schema-parts.js";
import { type Fields, formatPath } from "../../util/parse-fields.js";
import { createSeriesMap } from "../../util/series.js";
import { changeFields } from "./change-fields.js";
import { findFixedFields } from "./fixed-fields.js";

/** The schema of the option `parameters` of a channel. */
const parametersSchema = /* @__PURE__ */ (() => {
  const fields = z.optional(z.record(name, z.unknown(), "must be an object of fields"));
  const changes = z.strictObject(
    { set: fields, default: fields, remove: z.optional(names) } satisfies Fields<FieldChanges>,
    "must be an object with set, default or remove",
  );
  return z.strictObject({
    parameters: z.record(name, changes, "must be an object of changes by model"),
  } satisfies Fields<Pick<ChannelOptions, "parameters">>);
})();

/** Changes the fields that channels with `parameters` send to their provider. */
export function channelParameters(): Feature {
  return { name: "channel parameters", setup: () => ({ changeDialect }) };
}

/** @throws GatewayOptionsError for changes of wrong types, and for fields that cannot be named */
function changeDialect(dialect: Dialect, { parameters }: ChannelOptions, index: number): Dialect {
  if (parameters === undefined) return dialect;
  throwProblems(
    findProblems(parameters).map(({ path, message }) => ({ path: `channels[${index}].${path}`, message })),
  );
  const changesOf = createSeriesMap(parameters);
  const changed: Dialect = Object.create(dialect);
  return Object.assign(changed, {
    toUpstream: (request, upstreamModel) => {
      const call = dialect.toUpstream(request, upstreamModel);
      const changes = changesOf.find(request.model)?.value;
      return changes === undefined ? call : { ...call, body: changeFields(call.body, changes) };
    },
  } satisfies Partial<Dialect>);
}

function findProblems(parameters: NonNullable<ChannelOptions["parameters"]>) {
  const { problems } = findTypeProblems(parametersSchema, { parameters });
  if (problems.length > 0) return problems;
  return Object.entries(parameters).flatMap(([model, changes]) =>
    findFixedFields(changes).map(({ path, message }) => ({
      path: formatPath(["parameters", model, ...path]),
      message,
    })),
  );
}
