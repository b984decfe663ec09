import type { NewKey } from "../../wire.js";
import { Dialog } from "../components/dialog.js";
import { CopyButton } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";
import { addressOf, go } from "../router.js";
import { findStorage, writeStored } from "../settings.js";

/** Shows a key, once. Escape does not close it, because the key would be lost. */
export function NewKeyDialog({
  created,
  onClose,
}: {
  readonly created: NewKey;
  readonly onClose: () => void;
}) {
  const { callers: text } = useMessages();
  const tryIt = (): void => {
    // Try reads it from there. It is gone when the tab is closed.
    writeStored("key", created.key, findStorage("sessionStorage"));
    onClose();
    go(addressOf("try"));
  };
  return (
    <Dialog title={text.newKey(created.caller.id)} onClose={onClose} isPersistent>
      <p class="notice">{text.newKeyHint}</p>
      <code class="key">{created.key}</code>
      <div class="actions">
        <CopyButton text={created.key} label={text.key} isPrimary />
        <button type="button" class="button" onClick={tryIt}>
          {text.tryKey}
        </button>
        <button type="button" class="button" onClick={onClose}>
          {text.keyCopied}
        </button>
      </div>
    </Dialog>
  );
}
