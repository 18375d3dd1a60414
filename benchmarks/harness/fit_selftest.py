"""Tests of harness/fit.py on made data: `python3 -m unittest harness.fit_selftest` in benchmarks/. Nothing is timed."""
import random
import unittest

from harness.fit import Work, around, fit, table, total_lost


def made(true, now, values, noise=0.0, count=40, seed=3):
    """Works of a size 1 .. 100 with two plans, of which `large` takes less time from the size `true` on; a constant
    decides from which size on it is chosen."""
    draw = random.Random(seed)
    works = []
    for k in range(count):
        size = draw.uniform(1, 100)
        chosen = {value: "large" if size >= value else "small" for value in {now, *values}}
        work = Work(f"w{k}", chosen[now], {("from", value): plan for value, plan in chosen.items()})
        ratio = (size / true) ** 0.5  # small / large
        for plan, time in (("small", 10 * ratio), ("large", 10.0)):
            work.times[plan] = [time * (1 + noise * draw.random()) for _ in range(5)]
        works.append(work)
    return works


class Fitting(unittest.TestCase):
    def test_a_wrong_constant_is_found_and_clear(self):
        values = [10, 20, 40, 80]
        f = fit(made(20, 80, values), "from", 80, values)
        self.assertEqual((f.best, f.clear), (20, True))
        self.assertGreater(f.lost_now, f.lost_best)
        self.assertGreater(f.sure, 0.95)

    def test_it_bears_noise(self):
        values = [10, 20, 40, 80]
        self.assertEqual(fit(made(20, 80, values, noise=0.05), "from", 80, values).best, 20)

    def test_a_right_constant_stays(self):
        values = [10, 40, 80]
        f = fit(made(20, 20, values), "from", 20, values)
        self.assertEqual((f.best, f.clear), (20, False))
        self.assertLess(f.lost_now, 0.005)

    def test_noise_alone_is_no_reason_to_change(self):
        values = around(30)
        works = made(30, 30, values, noise=0.0)
        draw = random.Random(5)
        for work in works:  # all plans take the same time
            work.times = {plan: [10 * (1 + 0.02 * draw.random()) for _ in range(5)] for plan in work.times}
        self.assertFalse(fit(works, "from", 30, values).clear)

    def test_works_that_do_not_depend_on_it_do_not_count(self):
        works = [Work("w", "only", {("from", 1): "only"}, {"only": [1.0, 1.0]})]
        f = fit(works, "from", 2, [1])
        self.assertEqual((f.best, f.works, f.clear), (2, 0, False))
        self.assertIn("no plan depends on it", table([f], works))

    def test_what_is_lost_is_against_the_best_plan_of_each_work(self):
        works = [Work("a", "slow", {}, {"slow": [2.0, 2.0], "fast": [1.0, 1.0]}),
                 Work("b", "fast", {}, {"slow": [2.0, 2.0], "fast": [1.0, 1.0]})]
        self.assertAlmostEqual(total_lost(works), 2 ** 0.5 - 1)

    def test_a_plan_that_was_the_best_by_chance_is_not(self):
        work = Work("a", "one", {}, {"one": [2.0, 1.0], "other": [1.0, 2.0]})
        self.assertAlmostEqual(total_lost([work]), 2 ** -0.5 - 1)

    def test_few_works_are_no_reason_to_change(self):
        values = [10, 20, 40, 80]
        few = [work for work in made(20, 80, values) if work.plan("from", 20) != work.now][:5]
        f = fit(few, "from", 80, values)
        self.assertEqual((f.best, f.works, f.clear), (20, 5, False))

    def test_values_around_are_whole_and_others(self):
        self.assertEqual(around(1), [2, 4])
        self.assertEqual(around(12), [3, 6, 9, 16, 24, 48])


if __name__ == "__main__":
    unittest.main()
