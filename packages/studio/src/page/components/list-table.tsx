import type { ComponentChildren } from "preact";

/** A column: its name, or its name and its classes. `unnamed` hides the name from those who see. `false`: it is left out. */
type Column = string | readonly [name: string, classes: string] | false;

/** A table whose rows are lists of their cells on a phone. It scrolls if it is too wide, also by keyboard. */
export function ListTable({
  label,
  kind = "",
  columns,
  children,
}: {
  readonly label: string;
  /** The class of its style. */
  readonly kind?: string;
  readonly columns: readonly Column[];
  /** One `tbody`, or several. */
  readonly children: ComponentChildren;
}) {
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={label}>
      <table class={`list ${kind}`}>
        <thead>
          <tr>
            {columns.map((column) => {
              if (column === false) return null;
              const [name, classes = ""] = typeof column === "string" ? [column] : column;
              return (
                <th key={name} class={classes}>
                  {classes.startsWith("unnamed") ? <span class="hidden-text">{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  );
}
