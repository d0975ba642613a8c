// The standard containers and algorithms with strings, lambdas, smart pointers and streams.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

struct Edge { int to; double weight; };

static std::vector<double> dijkstra(const std::vector<std::vector<Edge>> &graph, int from) {
    std::vector<double> distance(graph.size(), 1e18);
    std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> queue;
    queue.push({distance[from] = 0, from});
    while (!queue.empty()) {
        auto [d, v] = queue.top();
        queue.pop();
        if (d > distance[v]) continue;
        for (const Edge &e : graph[v])
            if (d + e.weight < distance[e.to]) queue.push({distance[e.to] = d + e.weight, e.to});
    }
    return distance;
}

template <class F> static auto memoise(F f) {
    auto cache = std::make_shared<std::map<int, long long>>();
    return [cache, f](auto &self, int n) -> long long {
        if (auto it = cache->find(n); it != cache->end()) return it->second;
        return (*cache)[n] = f(self, n);
    };
}

int main() {
    std::map<std::string, std::vector<int>> index;
    std::istringstream in("to be or not to be that is the question whether tis nobler in the mind to suffer the slings");
    std::string word;
    for (int i = 0; in >> word; i++) index[word].push_back(i);
    std::ostringstream out;
    for (const auto &[w, places] : index) if (places.size() > 1) out << w << ':' << std::accumulate(places.begin(), places.end(), 0) << ' ';
    std::printf("%s\n", out.str().c_str());

    std::vector<std::vector<Edge>> graph(200);
    unsigned x = 7;
    for (int i = 0; i < 1200; i++) { x = x * 1664525 + 1013904223; graph[x >> 8 & 127].push_back({(int)(x >> 16) % 200, (x >> 24) / 8.0 + 1}); }
    auto distance = dijkstra(graph, 3);
    double total = 0;
    for (double d : distance) if (d < 1e17) total += d;
    std::printf("%.3f\n", total);

    std::vector<std::pair<std::string, int>> people;
    for (int i = 0; i < 300; i++) people.emplace_back("name" + std::to_string(i * 7919 % 301), i);
    std::sort(people.begin(), people.end(), [&](auto &a, auto &b) { return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.first > b.first; });
    std::printf("%s %d %s\n", people[0].first.c_str(), people[150].second, people.back().first.c_str());

    std::unordered_map<long, std::unique_ptr<std::deque<long>>> buckets;
    for (long i = 0; i < 2000; i++) { auto &b = buckets[i * i % 37]; if (!b) b = std::make_unique<std::deque<long>>(); i % 2 ? b->push_back(i) : b->push_front(-i); }
    long checksum = 0;
    for (long k = 0; k < 37; k++) if (auto it = buckets.find(k); it != buckets.end()) for (long v : *it->second) checksum = (checksum * 31 + v) % 1000000007;
    std::printf("%zu %ld\n", buckets.size(), checksum);

    std::set<int> set;
    for (int i = 0; i < 500; i++) { set.insert(i * 17 % 211); if (i % 3 == 0) set.erase(i % 100); }
    std::function<int(int)> compose = [](int v) { return v + 1; };
    for (int i = 0; i < 5; i++) compose = [compose, i](int v) { return compose(v * 2) - i; };
    std::printf("%zu %d %d\n", set.size(), *set.lower_bound(57), compose(3));
    auto tribonacci = memoise([](auto &self, int n) -> long long { return n < 3 ? n : self(self, n - 1) + self(self, n - 2) + self(self, n - 3); });
    std::printf("%lld\n", tribonacci(tribonacci, 60));
    std::string s = "permutation";
    std::sort(s.begin(), s.end());
    int n = 0;
    while (n < 1000 && std::next_permutation(s.begin(), s.end())) n++;
    std::printf("%s %zu\n", s.c_str(), s.find("tu"));
    return 0;
}
