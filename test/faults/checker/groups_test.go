package checker

import (
	"slices"
	"testing"
)

// goodGroup is a run in which everything went well: commits of unknown outcome that count and that do not, a look while a
// commit is on its way, a stale commit that was refused.
func goodGroup() GroupRun {
	settled := []Membership{{"m1", "id-1", 3}, {"m2", "id-2", 3}}
	return GroupRun{
		Group: "g",
		Commits: []Commit{
			{Who: "m1", Partition: 0, Offset: 10, Sent: 1, Heard: 2, Outcome: Acked},
			{Who: "m1", Partition: 0, Offset: 20, Sent: 5},
			{Who: "m1", Partition: 0, Offset: 30, Sent: 9, Heard: 12, Outcome: Acked},
			{Who: "m1", Partition: 0, Offset: 40, Sent: 15},
			{Who: "m2", Partition: 1, Offset: 7, Sent: 3, Heard: 4, Outcome: Acked},
			{Who: "ghost", Partition: 0, Offset: 99, Sent: 6, Stale: true},
		},
		Looks: []Look{
			{0, -1, 0, 2}, {0, 10, 3, 6}, {0, 20, 7, 8}, {0, 30, 10, 11}, {0, 30, 13, 16}, {1, 7, 13, 16},
		},
		Settled: settled,
		Known:   slices.Repeat(settled, 3),
	}
}

func TestAGroupsRunWithoutFaultsPassesAndIsCounted(t *testing.T) {
	r := CheckGroup(goodGroup())
	if !r.OK() || r.Acked != 3 || r.Unknown != 2 || r.Refused != 1 || r.Seen != 6 {
		t.Error(r)
	}
}

func TestEveryFaultOfAGroupIsReported(t *testing.T) {
	cases := map[string]struct {
		spoil func(*GroupRun)
		want  Kind
	}{
		"an acknowledged commit is gone":         {func(r *GroupRun) { r.Looks[4].Offset = 20 }, CommitLost},
		"nothing is left":                        {func(r *GroupRun) { r.Looks[5].Offset = -1 }, CommitLost},
		"what was seen goes back":                {func(r *GroupRun) { r.Looks[3].Offset = 10 }, CommitLost},
		"an offset comes before it was sent":     {func(r *GroupRun) { r.Looks[4].Offset, r.Looks[4].Ended = 40, 14 }, CommitUnknown},
		"an offset comes from nowhere":           {func(r *GroupRun) { r.Looks[5].Offset = 8 }, CommitUnknown},
		"a commit that was refused is there":     {func(r *GroupRun) { r.Looks[4].Offset = 99 }, CommitUnknown},
		"an old generation's commit is accepted": {func(r *GroupRun) { r.Commits[5].Outcome = Acked }, StaleAccepted},
		"a member has another id":                {func(r *GroupRun) { r.Known[4].MemberID = "id-3" }, Rebalanced},
		"a member is in another generation":      {func(r *GroupRun) { r.Known[3].Generation = 4 }, Rebalanced},
		"partitions are taken":                   {func(r *GroupRun) { r.Assigned = append(r.Assigned, "m1 lost 0") }, Rebalanced},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run := goodGroup()
			c.spoil(&run)
			r := CheckGroup(run)
			if len(r.Faults) != 1 || r.Faults[0].Kind != c.want {
				t.Errorf("want one %s, got %s", c.want, r)
			}
		})
	}
}
