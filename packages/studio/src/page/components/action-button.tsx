import type { ComponentChildren, TargetedMouseEvent } from "preact";

/**
 * A button that has no effect at times. It keeps the focus then, which a disabled button would lose. A key that is held
 * presses it once.
 */
export function ActionButton({
  isOff = false,
  type = "button",
  class: className = "button",
  onPress,
  children,
}: {
  /** True while pressing it has no effect. */
  readonly isOff?: boolean;
  readonly type?: "button" | "submit";
  readonly class?: string;
  /** Not needed for the button that submits a form. */
  readonly onPress?: (event: TargetedMouseEvent<HTMLButtonElement>) => void;
  readonly children: ComponentChildren;
}) {
  return (
    <button
      type={type}
      class={className}
      aria-disabled={isOff ? "true" : undefined}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onPress?.(event);
      }}
      onKeyDown={(event) => {
        if (event.repeat && (event.key === "Enter" || event.key === " ")) event.preventDefault();
      }}
    >
      {children}
    </button>
  );
}
