import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

const path = process.env.AUTH_DATABASE || "data/users.db";
mkdirSync(dirname(path), { recursive: true });

/** Users and their sessions are in a file, for one machine. */
export const userDatabase = new DatabaseSync(path);
