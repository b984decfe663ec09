// Runs in the browser.
import { createRoot } from "react-dom/client";
import Page from "./page.tsx";

createRoot(document.body).render(<Page />);
