/** A square, uncompressed image of one shade, made without a library and on every runtime. */
export function createBitmap(side: number, shade: number): Uint8Array<ArrayBuffer> {
  const rowBytes = Math.ceil((side * 3) / 4) * 4;
  const bitmap = new Uint8Array(54 + rowBytes * side).fill(shade, 54);
  const view = new DataView(bitmap.buffer);
  view.setUint16(0, 0x424d); // "BM"
  for (const [offset, value] of [
    [2, bitmap.length],
    [10, 54],
    [14, 40],
    [18, side],
    [22, side],
  ] as const) {
    view.setUint32(offset, value, true);
  }
  view.setUint16(26, 1, true);
  view.setUint16(28, 24, true);
  return bitmap;
}
