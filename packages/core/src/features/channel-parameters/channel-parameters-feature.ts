import type { ChannelOptions } from "../../channels/channel.js";
import type { Dialect } from "../../families/dialect.js";
import type { Feature } from "../../kernel/feature.js";
import { findTypeProblems, throwProblems } from "../../options/problems.js";
import { formatPath } from "../../util/parse-fields.js";
import { createSeriesMap } from "../../util/series.js";
import { changeFields } from "./change-fields.js";
import { findFixedFields } from "./fixed-fields.js";
import { parametersSchema } from "./parameters-schema.js";

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
