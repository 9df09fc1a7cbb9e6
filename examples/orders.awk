# Makes orders.csv, the same each time: awk -f examples/orders.awk > examples/orders.csv

# A number below `n` that looks like chance.
function below(n) {
    seed = (seed * 1103 + 12345) % 65521
    return int(seed / 65521 * n)
}

BEGIN {
    seed = 42
    split("Lisbon Oslo Kyoto Lima Dakar Porto", cities, " ")
    split("31 28 31 30 31 30 31 31 30 31 30 31", days, " ")
    print "user_id,order_date,order_id,status,amount,city,note"
    for (id = 1; id <= 200; id++) {
        user = 1 + below(12)
        month = 1 + int((id - 1) * 12 / 200)
        day = 1 + below(days[month])
        chance = below(100)
        status = id > 190 ? "open" : chance < 6 ? "returned" : chance < 14 ? "cancelled" : "delivered"
        note = below(20) ? "" : "\"a gift, please wrap it\""
        city = cities[1 + user % 6]
        printf "U%d,2025-%02d-%02d,%d,%s,%d.%d9,%s,%s\n", user, month, day, id, status, 3 + below(120), below(10), city, note
    }
}
