import { Dialog as Base } from "@base-ui/react/dialog";
import type { ComponentChildren, RefObject } from "preact";

/** A modal dialog. It keeps the focus and gives it back. Escape closes it; a click beside it does not, as forms would be lost. */
export function Dialog({
  title,
  onClose,
  isPersistent = false,
  initialFocus,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  /** Only a button of the dialog closes it. Default false: Escape does, too. */
  readonly isPersistent?: boolean;
  /** What has the focus first. Default: the first field or button. */
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}) {
  return (
    <Base.Root
      open
      disablePointerDismissal
      onOpenChange={(isOpen, { reason }) => {
        if (!isOpen && !(isPersistent && reason === "escape-key")) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog" initialFocus={initialFocus}>
          <Base.Title>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
