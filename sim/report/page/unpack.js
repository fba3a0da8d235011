// Columns of tables as page_column.cpp packs them. A number is 1 + zigzag of a whole number, seven bits
// a byte, lowest first; 0 is an empty cell and becomes NaN.
function unpack_numbers(column) {
  const bytes = atob(column.data);
  const numbers = new Float64Array(column.rows);
  const scale = 10 ** (column.decimals ?? 0);
  let at = 0, before = 0;
  for (let row = 0; row < column.rows; ++row) {
    let stored = 0, weight = 1, byte;
    do {
      byte = bytes.charCodeAt(at++);
      stored += (byte & 127) * weight;  // not <<: numbers may pass 32 bits
      weight *= 128;
    } while (byte > 127);
    if (stored === 0) {
      numbers[row] = NaN;
      continue;
    }
    const zigzag = stored - 1;
    const whole = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    before = column.delta ? before + whole : whole;
    numbers[row] = before / scale;
  }
  return numbers;
}

/// The ends of a column's intervals, with "price_" those for prices alone; null where it has none.
function unpack_interval(column, source = "") {
  const low = column[`${source}low`], high = column[`${source}high`];
  if (!low) return null;
  const numbers = (packed) => unpack_numbers({ ...packed, rows: column.rows, decimals: column.decimals });
  return { low: numbers(low), high: numbers(high) };
}
