/** Uncompressed pixels from top to bottom: three bytes a pixel (RGB), or four (RGBA). */
export interface Canvas {
  readonly pixels: Buffer;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** An image to copy onto another one, with a white border around it. It has the same number of channels. */
export interface Print extends Omit<Canvas, "channels"> {
  readonly left: number;
  readonly top: number;
  readonly border: number;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Changes the canvas. The parts of the print that are outside of the canvas are left out. */
export function pastePrint(canvas: Canvas, print: Print): void {
  const { left, top, width, height, border } = print;
  const frame = {
    left: left - border,
    top: top - border,
    width: width + border * 2,
    height: height + border * 2,
  };
  for (const { start, end } of rowsOf(frame, canvas)) canvas.pixels.fill(255, start, end);
  for (const { start, end, from } of rowsOf(print, canvas)) {
    print.pixels.copy(canvas.pixels, start, from, from + end - start);
  }
}

/** For each visible row, in bytes: its start and end in the canvas, and its start in the box. */
function* rowsOf(box: Box, { width, height, channels }: Canvas) {
  const left = Math.max(0, box.left);
  const right = Math.min(width, box.left + box.width);
  if (right <= left) return;
  const bottom = Math.min(height, box.top + box.height);
  for (let y = Math.max(0, box.top); y < bottom; y += 1) {
    yield {
      start: (y * width + left) * channels,
      end: (y * width + right) * channels,
      from: ((y - box.top) * box.width + left - box.left) * channels,
    };
  }
}
