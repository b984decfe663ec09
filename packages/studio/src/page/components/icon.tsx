import {
  ChartColumn,
  Check,
  ChevronDown,
  CircleAlert,
  CircleCheck,
  CirclePause,
  CirclePlay,
  Copy,
  Download,
  ExternalLink,
  House,
  type IconNode,
  Images,
  ListChecks,
  Plus,
  RefreshCw,
  Route,
  Search,
  Settings2,
  Stethoscope,
  Tag,
  TriangleAlert,
  Users,
  Webhook,
  X,
} from "lucide";
import { h } from "preact";

/** The icons of the page, from Lucide. Only those of this list are part of the package. */
const ICONS = {
  add: Plus,
  callers: Users,
  channels: Route,
  check: Check,
  choose: ChevronDown,
  close: X,
  copy: Copy,
  download: Download,
  failed: CircleAlert,
  good: CircleCheck,
  home: House,
  open: ExternalLink,
  paused: CirclePause,
  prices: Tag,
  probe: Stethoscope,
  refresh: RefreshCw,
  resume: CirclePlay,
  search: Search,
  settings: Settings2,
  tasks: ListChecks,
  try: Images,
  usage: ChartColumn,
  warn: TriangleAlert,
  webhook: Webhook,
} as const satisfies Readonly<Record<string, IconNode>>;

export type IconName = keyof typeof ICONS;

/** An icon beside the words that name it. Screen readers get the words only. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {ICONS[name].map(([tag, attributes], index) => h(tag, { key: index, ...attributes }))}
    </svg>
  );
}

/** The mark of calotype: one circle on a sheet, the left half as the negative, the right half as the print. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path class="negative" d="M7 2h9v28H7a5 5 0 0 1-5-5V7a5 5 0 0 1 5-5z" />
      <path class="print" d="M16 2.75h9A4.25 4.25 0 0 1 29.25 7v18A4.25 4.25 0 0 1 25 29.25h-9z" />
      <path class="print" d="M16 8v16a8 8 0 0 1 0-16z" stroke="none" />
      <path class="negative" d="M16 8a8 8 0 0 1 0 16z" />
    </svg>
  );
}
