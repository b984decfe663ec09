/** Uncompressed RGB, three bytes a pixel, from top to bottom. */
export interface Canvas {
  readonly pixels: Buffer;
  readonly width: number;
  readonly height: number;
}

/** A picture to be laid onto another, with a white border around it. */
export interface Print extends Canvas {
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

/** Changes the canvas. What lies outside of it is left off. */
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

/** Of each visible row: where it starts and ends in the canvas, and where it comes from in the box, in bytes. */
function* rowsOf(box: Box, { width, height }: Canvas) {
  const left = Math.max(0, box.left);
  const right = Math.min(width, box.left + box.width);
  if (right <= left) return;
  const bottom = Math.min(height, box.top + box.height);
  for (let y = Math.max(0, box.top); y < bottom; y += 1) {
    yield {
      start: (y * width + left) * 3,
      end: (y * width + right) * 3,
      from: ((y - box.top) * box.width + left - box.left) * 3,
    };
  }
}
