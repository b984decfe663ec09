// `npm start`: `next start`, after `npm run build`.
import { runNext } from "./run-next.ts";

runNext(["start"]);
