// Quaternions [x, y, z, w], and transforms of 16 numbers, row by row.

export const conjugate = ([x, y, z, w]) => [-x, -y, -z, w];

export function multiply([ax, ay, az, aw], [bx, by, bz, bw]) {
  return [
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz,
  ];
}

export const rotate = (q, [x, y, z]) => multiply(multiply(q, [x, y, z, 0]), conjugate(q)).slice(0, 3);

// Returns a rotation as 9 numbers, row by row.
export function toMatrix([x, y, z, w]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
    2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
    2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
  ];
}

// Returns the quaternion of a rotation of 9 numbers, row by row; its largest component is computed first.
export function toQuaternion([a, b, c, d, e, f, g, h, i]) {
  const squares = [1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i];
  const sums = [
    [squares[0], b + d, c + g, h - f],
    [b + d, squares[1], f + h, c - g],
    [c + g, f + h, squares[2], d - b],
    [h - f, c - g, d - b, squares[3]],
  ];
  const row = sums[squares.indexOf(Math.max(...squares))], size = Math.hypot(...row);
  return row.map((x) => x / size);
}
