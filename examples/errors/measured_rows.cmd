diagnose examples/errors/measured_rows.csv
