import { useLayoutEffect, useState } from "preact/hooks";
import type { Session } from "../wire.js";
import { call } from "./api.js";
import { Failure, Loading } from "./components/feedback.js";
import { Shell } from "./components/shell.js";
import { CurrencyContext } from "./currency.js";
import { findLanguage, LANGUAGES, type Language, MessagesContext, useMessages } from "./messages/index.js";
import { type Place, usePlace } from "./router.js";
import { readStored, writeStored } from "./settings.js";
import { useBench } from "./try/use-bench.js";
import { useData } from "./use-data.js";
import { CallersView } from "./views/callers.js";
import { ChannelsView } from "./views/channels.js";
import { PricesView } from "./views/prices.js";
import { TasksView } from "./views/tasks.js";
import { TryView } from "./views/try.js";
import { UsageView } from "./views/usage.js";

/** The page: its language, its frame, and the view of the address. */
export function App() {
  const [language, setLanguage] = useState<Language>(() => {
    const stored = readStored("language");
    return stored === "en" || stored === "zh" ? stored : findLanguage();
  });
  const messages = LANGUAGES[language];
  const place = usePlace();
  const session = useData("session", () => call<Session>("session"));
  const title = place.view === undefined ? messages.notFound : messages.views[place.view];
  useLayoutEffect(() => {
    document.documentElement.lang = messages.language;
    document.title = `${title} · ${messages.brand}`;
  }, [messages, title]);
  const choose = (chosen: Language): void => {
    setLanguage(chosen);
    writeStored("language", chosen);
  };

  return (
    <MessagesContext.Provider value={messages}>
      <CurrencyContext.Provider value={session.data?.currency}>
        <Shell place={place} session={session.data} language={language} onLanguage={choose}>
          {session.error !== undefined && session.data === undefined ? (
            <Failure error={session.error} onRetry={session.reload} />
          ) : session.data === undefined ? (
            <Loading />
          ) : (
            <ViewOf session={session.data} place={place} />
          )}
        </Shell>
      </CurrencyContext.Provider>
    </MessagesContext.Provider>
  );
}

/** A component of its own, so that a view keeps its state when the frame is drawn again. */
function ViewOf({ session, place: { view, query } }: { readonly session: Session; readonly place: Place }) {
  const messages = useMessages();
  const bench = useBench(messages.try.examplePrompt);
  switch (view) {
    case "try":
      return <TryView session={session} query={query} bench={bench} />;
    case "usage":
      return <UsageView session={session} query={query} />;
    case "channels":
      return <ChannelsView session={session} query={query} />;
    case "callers":
      return <CallersView session={session} query={query} />;
    case "tasks":
      return <TasksView session={session} query={query} />;
    case "prices":
      return <PricesView query={query} />;
    case undefined:
      return <h1>{messages.notFound}</h1>;
  }
}
