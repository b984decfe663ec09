import { render } from "preact";
import { App } from "./app.js";

const root = document.getElementById("studio");
if (root === null) throw new Error("The page has no place for the studio.");
render(<App />, root);
