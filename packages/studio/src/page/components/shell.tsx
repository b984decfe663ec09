import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../../wire.js";
import { LANGUAGES, type Language, useMessages } from "../messages/index.js";
import { addressOf, followLink, type Place, VIEWS } from "../router.js";
import { THEMES, useTheme } from "../settings.js";
import { Announcer, announce } from "./announcer.js";
import { ChoiceField } from "./field.js";
import { focusView } from "./focus.js";
import { Icon, Mark } from "./icon.js";
import { Palette } from "./palette.js";

/** What the frame of the page shows. */
export interface ShellProps {
  readonly place: Place;
  readonly session: Session | undefined;
  readonly language: Language;
  readonly onLanguage: (language: Language) => void;
  readonly children: ComponentChildren;
}

/** The frame: a rail with the views, and the view. */
export function Shell({ place, session, language, onLanguage, children }: ShellProps) {
  const messages = useMessages();
  useAnnouncedView(place.view === undefined ? messages.notFound : messages.views[place.view]);
  return (
    <div class="shell">
      <a class="skip" href="#view">
        {messages.skip}
      </a>
      <header class="rail">
        <p class="brand">
          <Mark />
          calotype
        </p>
        <SearchButton />
        <nav aria-label={messages.viewsLabel}>
          <ul>
            {VIEWS.map((view) => (
              <li key={view}>
                <a
                  href={addressOf(view)}
                  onClick={followLink}
                  aria-current={place.view === view ? "page" : undefined}
                >
                  <Icon name={view} />
                  {messages.views[view]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Settings language={language} onLanguage={onLanguage} session={session} />
      </header>
      <main class="view" id="view" tabIndex={-1}>
        {children}
      </main>
      <Announcer />
    </div>
  );
}

/** One menu for what a person sets once: the language and the theme. It also says who may do what here. */
function Settings({
  language,
  onLanguage,
  session,
}: Pick<ShellProps, "language" | "onLanguage" | "session">) {
  const messages = useMessages();
  const [theme, setTheme] = useTheme();
  return (
    <div class="menu">
      {session?.role === "viewer" && <p class="access">{messages.viewerShort}</p>}
      <button type="button" class="button quiet" popovertarget="settings">
        <Icon name="settings" />
        {messages.settings}
      </button>
      <div class="settings" id="settings" popover="auto">
        <ChoiceField
          label={messages.languageLabel}
          value={language}
          onValue={(value) => onLanguage(value === "zh" ? "zh" : "en")}
          choices={Object.entries(LANGUAGES).map(([code, { languageName }]) => [code, languageName])}
        />
        <ChoiceField
          label={messages.theme.label}
          value={theme}
          onValue={(value) => setTheme(THEMES.find((other) => other === value) ?? "auto")}
          choices={THEMES.map((each) => [each, messages.theme[each]])}
        />
        {session !== undefined && <AccessNote session={session} />}
      </div>
    </div>
  );
}

/** Says which view is shown when another one is opened, and moves the focus there if what had it is gone. */
function useAnnouncedView(title: string): void {
  const { language } = useMessages();
  const shown = useRef({ title, language });
  useEffect(() => {
    const before = shown.current;
    shown.current = { title, language };
    // The same view in another language has another title.
    if (before.title === title || before.language !== language) return;
    announce(title);
    if (document.activeElement === document.body) focusView();
  }, [title, language]);
}

/** Opens the palette, as Ctrl or ⌘ and K do. Not while a dialog is open: a person first ends what it asks. */
function SearchButton() {
  const { search: text } = useMessages();
  const [isOpen, setOpen] = useState(false);
  const hasChosen = useRef(false);
  useEffect(() => {
    // A panel that was opened has taken the focus. Otherwise reading goes on in the view.
    if (!isOpen && hasChosen.current && document.activeElement === document.body) focusView();
  }, [isOpen]);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      if (document.querySelector('[role="dialog"]') === null) setOpen(true);
    };
    addEventListener("keydown", open);
    return () => removeEventListener("keydown", open);
  }, []);
  return (
    <>
      <button
        type="button"
        class="button search"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" />
        {text.open}
        <kbd aria-hidden="true">{IS_APPLE ? "⌘ K" : "Ctrl K"}</kbd>
      </button>
      {isOpen && (
        <Palette
          onClose={(chosen) => {
            hasChosen.current = chosen;
            setOpen(false);
          }}
        />
      )}
    </>
  );
}

const IS_APPLE = /^(?:mac|iphone|ipad)/i.test(navigator.platform);

function AccessNote({ session: { access, role } }: { readonly session: Session }) {
  const messages = useMessages();
  if (access === "local") return <p class="access">{messages.localAccess}</p>;
  return role === "viewer" ? <p class="access">{messages.viewerAccess}</p> : null;
}
