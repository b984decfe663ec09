import { expect, it } from "vitest";
import { describeS3 } from "../../results/describe-s3.js";
import { describeWithService } from "../../support/needs-service.js";
import { RADOSGW, startRadosgw } from "../../support/radosgw.js";
import { countPassed, expectCounts } from "../results.js";

await describeWithService(RADOSGW, (program) => {
  describeS3("Ceph's radosgw", () => startRadosgw(program));

  it("has the number of tests that docs/suites.md shows", async ({ task }) => {
    expect(countPassed(task)).toBeGreaterThan(0);
    await expectCounts("radosgw", { "tests pass": countPassed(task) });
  });
});
