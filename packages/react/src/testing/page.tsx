import { createClient, type EditRequest } from "@calotype/client";
import { StrictMode, useEffect, useState, version } from "react";
import { createRoot } from "react-dom/client";
import { useImages } from "../index.js";

/*
 * The page of the tests. Its query says how the hook is used: `key` is the storage key, and with `auto` an effect starts the call.
 */

const query = new URL(location.href).searchParams;
const storageKey = query.get("key") ?? undefined;
const REQUEST = { model: "seedream-4-0-250828", prompt: query.get("prompt") ?? "3 herons", n: 3 };

/** What the tests read. */
const seen: { version: string; effects: number; shown: Record<string, number> } = {
  version,
  effects: 0,
  shown: {},
};

function Images() {
  // A new client in each rendering, which must not end a call.
  const client = createClient({ baseUrl: "/ai" });
  const { generate, edit, abort, reset, ...state } = useImages({ client, storageKey });
  const shown = `${state.status} ${state.images.length}`;
  useEffect(() => {
    seen.shown[shown] ??= performance.now();
  }, [shown]);
  const isAuto = query.has("auto");
  useEffect(() => {
    seen.effects++;
    if (isAuto) generate(REQUEST);
  }, [isAuto, generate]);
  const chooseFile = (files: FileList | null): void => {
    const images: EditRequest["images"] = [...(files ?? [])];
    edit({ ...REQUEST, n: 1, images });
  };
  return (
    <>
      <button id="generate" type="button" onClick={() => generate(REQUEST)} />
      <button id="abort" type="button" onClick={abort} />
      <button id="reset" type="button" onClick={reset} />
      <input type="file" onChange={({ target }) => chooseFile(target.files)} />
      <output>{state.status}</output>
      <p id="error">
        {state.error === undefined ? "" : `${state.error.name} ${Reflect.get(state.error, "code")}`}
      </p>
      {state.images.map(({ url }) => (
        <img key={url} src={url} alt="" />
      ))}
    </>
  );
}

function App() {
  const [isShown, setShown] = useState(true);
  return (
    <>
      <button id="toggle" type="button" onClick={() => setShown(!isShown)} />
      {isShown && <Images />}
    </>
  );
}

Object.assign(globalThis, { seen });
// At the root: React 19 runs effects twice only there.
createRoot(document.body.appendChild(document.createElement("main"))).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
