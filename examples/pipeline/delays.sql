-- A row for each day and carrier. Averages are of whole minutes, so they come to the same on every machine.
SELECT make_date(year, month, day) AS date,
       carrier,
       count(*) AS flights,
       count_if(dep_time IS NULL) AS cancelled,
       count_if(dep_delay >= 15) AS delayed,
       avg(dep_delay) AS mean_dep_delay,
       max(dep_delay) AS max_dep_delay,
       avg(arr_delay) AS mean_arr_delay
FROM rows
GROUP BY ALL
