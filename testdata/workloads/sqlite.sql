-- A workload for SQLite: every statement's result is a function of this file alone.
.mode list
.nullvalue NULL
PRAGMA journal_mode = MEMORY;
PRAGMA cache_size = 500;

CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT, credit REAL);
CREATE TABLE item(id INTEGER PRIMARY KEY, sku TEXT UNIQUE, price REAL, tags TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INT REFERENCES customer, item INT, quantity INT, day TEXT);
CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT, old REAL, new REAL);
CREATE TRIGGER credit_audit AFTER UPDATE OF credit ON customer WHEN abs(new.credit - old.credit) > 50
BEGIN INSERT INTO audit(what, old, new) VALUES (new.name, old.credit, new.credit); END;

BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {{5000|200}})
INSERT INTO customer SELECT i, printf('customer %05d', (i * 7919) % 5000),
  CASE i % 5 WHEN 0 THEN 'north' WHEN 1 THEN 'south' WHEN 2 THEN 'east' WHEN 3 THEN 'west' END,
  round(1000.0 * sin(i) + i / 3.0, 4) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {{2000|100}})
INSERT INTO item SELECT i, upper(hex(i * 104729 % 65536)) || '-' || i, (i * 37 % 1000) / 8.0,
  json_array(i % 3, 'tag' || i % 7, json_object('weight', i / 10.0)) FROM n;
WITH RECURSIVE n(i, x) AS (SELECT 1, 12345 UNION ALL
  SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM n WHERE i < {{200000|1500}})
INSERT INTO sale SELECT i, x % {{5000|200}} + 1, (x / 7) % {{2000|100}} + 1, x % 11 + 1,
  date('2020-01-01', '+' || (x % 1461) || ' days') FROM n;
COMMIT;

CREATE INDEX sale_customer ON sale(customer, day);
CREATE INDEX sale_item ON sale(item) WHERE quantity > 5;
CREATE INDEX customer_lower ON customer(lower(name));
ANALYZE;

SELECT count(*), sum(quantity), min(day), max(day), total(quantity * 0.5) FROM sale;
SELECT region, count(*), round(avg(credit), 6), group_concat(DISTINCT id % 3) FROM customer GROUP BY region ORDER BY region;
SELECT c.region, strftime('%Y', s.day) AS y, count(*), round(sum(s.quantity * i.price), 3)
  FROM sale s JOIN customer c ON c.id = s.customer JOIN item i ON i.id = s.item
  GROUP BY 1, 2 ORDER BY 1, 2;
SELECT name, spent, rank() OVER (ORDER BY spent DESC) FROM (
  SELECT c.name, round(sum(s.quantity * i.price), 2) AS spent FROM sale s
  JOIN customer c ON c.id = s.customer JOIN item i ON i.id = s.item GROUP BY c.id)
  ORDER BY spent DESC, name LIMIT 20;
SELECT * FROM (
  SELECT id, day, quantity, sum(quantity) OVER w, round(avg(quantity) OVER w, 5), lag(quantity, 2, -1) OVER w,
    ntile(7) OVER (PARTITION BY customer ORDER BY day, id), first_value(day) OVER w
  FROM sale WHERE customer BETWEEN 100 AND 140
  WINDOW w AS (PARTITION BY customer ORDER BY day, id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW))
  ORDER BY id LIMIT 200;
SELECT c.id, c.name FROM customer c LEFT JOIN sale s ON s.customer = c.id AND s.quantity > 10
  WHERE s.id IS NULL AND c.id < 400 ORDER BY c.id LIMIT 50;
SELECT count(*) FROM sale s WHERE EXISTS (SELECT 1 FROM item i WHERE i.id = s.item AND i.sku LIKE '%3A%');
SELECT i.id % 10, json_extract(tags, '$[1]'), json_extract(tags, '$[2].weight'), json_array_length(tags)
  FROM item i WHERE i.id % 97 = 0;
SELECT value, count(*) FROM item, json_each(item.tags) WHERE type = 'text' GROUP BY value ORDER BY value;
SELECT substr(name, 3, 7), replace(name, '0', 'o'), instr(name, '9'), length(name), trim(name, 'cr0123'),
  hex(name), quote(name), unicode(name), printf('%-20s|%08.3f|%x', name, credit, id)
  FROM customer WHERE id % 613 = 0;
SELECT id, sku FROM item WHERE sku GLOB '3[0-4]*[13579]' ORDER BY sku COLLATE NOCASE LIMIT 40;
SELECT max(abs(credit)), round(sum(sqrt(abs(credit))), 4), round(sum(exp(-id / 500.0)), 6), sum(id << (id % 8)),
  sum(id & 1023), sum(~id), sum(id % 17 * (id / 13)) FROM customer;
SELECT day, julianday(day) - julianday('2000-01-01'), strftime('%j %W %w', day), date(day, 'start of month', '+1 month', '-1 day')
  FROM sale WHERE id % 4999 = 0;

UPDATE customer SET credit = credit + (SELECT total(quantity) FROM sale WHERE customer = customer.id) WHERE id % 3 = 0;
UPDATE item SET price = price * 1.1, tags = json_set(tags, '$[2].weight', id) WHERE id IN (SELECT item FROM sale WHERE quantity > 9);
DELETE FROM sale WHERE quantity = 4 OR day BETWEEN '2021-06-01' AND '2021-06-30';
INSERT INTO item(id, sku, price) SELECT id, sku, 0 FROM item WHERE id < 100 ON CONFLICT(id) DO UPDATE SET price = price / 2;
SELECT count(*), round(sum(price), 4), count(DISTINCT tags) FROM item;
SELECT count(*), round(sum(new - old), 3), max(what) FROM audit;
SELECT count(*), sum(quantity), count(DISTINCT day) FROM sale;

CREATE VIEW best AS SELECT region, max(credit) AS top FROM customer GROUP BY region;
SELECT region, round(top, 3) FROM best ORDER BY region;
WITH RECURSIVE mandel(cx, cy, zx, zy, n) AS (
  SELECT -2.0 + x.value * 0.05, -1.2 + y.value * 0.1, 0.0, 0.0, 0
    FROM json_each('[' || (WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < {{63|31}}) SELECT group_concat(i) FROM k) || ']') x,
         json_each('[' || (WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < {{24|8}}) SELECT group_concat(i) FROM k) || ']') y
  UNION ALL SELECT cx, cy, zx * zx - zy * zy + cx, 2 * zx * zy + cy, n + 1 FROM mandel WHERE zx * zx + zy * zy < 4 AND n < {{28|12}})
SELECT group_concat(line, char(10)) FROM (SELECT group_concat(substr(' .:-=+*#%@', 1 + n / 3, 1), '') AS line
  FROM (SELECT cy, cx, max(n) AS n FROM mandel GROUP BY cy, cx ORDER BY cy, cx) GROUP BY cy);
CREATE TABLE blobs(id INTEGER PRIMARY KEY, data BLOB);
INSERT INTO blobs SELECT id, zeroblob(id % 50 * 100) FROM item WHERE id <= 300;
UPDATE blobs SET data = CAST(hex(id * 1234567) || substr(CAST(data AS TEXT), 1, 10) AS BLOB) WHERE id % 2;
SELECT sum(length(data)), max(hex(substr(data, 1, 6))) FROM blobs;
CREATE VIRTUAL TABLE doc USING fts5(body);
INSERT INTO doc SELECT name || ' lives in the ' || coalesce(region, 'centre') || ' with ' || id FROM customer WHERE id <= 3000;
SELECT count(*) FROM doc WHERE doc MATCH 'north AND lives';
SELECT rowid, snippet(doc, 0, '[', ']', '...', 5) FROM doc WHERE doc MATCH '"in the east"' ORDER BY rowid LIMIT 10;
CREATE VIRTUAL TABLE box USING rtree(id, x0, x1, y0, y1);
INSERT INTO box SELECT id, id % 100, id % 100 + 3, id / 100, id / 100 + 2 FROM item;
SELECT count(*), sum(id) FROM box WHERE x0 >= 20 AND x1 <= 60 AND y0 > 4 AND y1 < 15;
EXPLAIN QUERY PLAN SELECT * FROM sale s JOIN customer c ON c.id = s.customer WHERE c.region = 'east' AND s.day > '2022-01-01';
EXPLAIN SELECT sum(price) FROM item WHERE id > 10;
DROP INDEX sale_customer;
VACUUM;
REINDEX;
PRAGMA integrity_check;
.mode quote
SELECT 1e308 * 10, -1e308 * 10, 0.1 + 0.2, 9223372036854775807 + 1, 5 / 2, -5 / 2, -5 % 3, 5 / 0, 1e-320, 123456789.123456789;
SELECT typeof(1), typeof(1.0), typeof('a'), typeof(x'00'), typeof(NULL), CAST('12abc' AS INT), CAST(3.99 AS INT), '10' + 5;
