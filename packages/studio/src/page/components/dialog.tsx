import { Dialog as Base } from "@base-ui/react/dialog";
import type { ComponentChildren } from "preact";

/** A modal dialog. It keeps the focus and gives it back. Escape closes it; a click beside it does not, as forms would be lost. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Base.Root open disablePointerDismissal onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog">
          <Base.Title>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
