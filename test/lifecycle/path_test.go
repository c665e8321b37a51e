// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// newFaultProxy starts a proxy for the operator, for as long as the test runs.
func (s *suite) newFaultProxy() *faultproxy.Proxy {
	s.Helper()
	p, err := faultproxy.Listen(s.Operator(), s.TempDir())
	s.Must(err)
	s.Cleanup(p.Close)
	return p
}

// usual are the durations of an election that the operator is shipped with.
var usual = []string{"--set=leaderElection.leaseDuration=15s", "--set=leaderElection.renewDeadline=10s"}

func TestAConnectionThatDiesSilentlyCostsNeitherTheLeaseNorAWrite(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	p := s.newFaultProxy()
	namespace := s.NewNamespace()
	leader := s.start(append(usual, "--kubeconfig="+p.Kubeconfig)...)
	leader.reconciles()
	s.create(namespace, "before")
	s.reconciled(namespace, "before")
	acquired := s.lease().Spec.AcquireTime

	silenced := p.SilenceConnections(faultproxy.Any)
	died := time.Now()
	refused := 0
	s.Eventually(func() error { // admission asks the API server for the writer's rights
		_, err := s.Dynamic.Resource(oldOnes).Namespace(namespace).Create(t.Context(), old("after"), metav1.CreateOptions{})
		if err != nil {
			refused++
		}
		return err
	})
	admitted := time.Since(died)
	s.reconciled(namespace, "after")
	t.Logf("%d connections died; a write was admitted after %s and %d refusals, and carried out after %s",
		silenced, admitted.Round(time.Millisecond), refused, time.Since(died).Round(time.Millisecond))
	if admitted > 15*time.Second {
		t.Errorf("no write was admitted for %s", admitted)
	}
	s.Eventually(func() error { // the Lease is renewed for longer than one that was not renewed lasts
		if renewed := s.lease().Spec.RenewTime; renewed.Sub(died) < 16*time.Second {
			return fmt.Errorf("renewed %s after the connections died", renewed.Sub(died))
		}
		return nil
	})
	if now := s.lease().Spec.AcquireTime; !now.Equal(acquired) || leader.PID() == 0 {
		t.Errorf("the Lease was lost: acquired at %s, and again at %s", acquired, now)
	}
	if got := leader.mustMetric("fairlead_apiserver_connections_replaced_total"); got < 2 {
		t.Errorf("%v connections were replaced: those of the election and of all else", got)
	}
}

// freeze declares a blackout of the cluster that lasts, with a note that changes.
func (s *suite) freeze(note string) {
	s.Helper()
	declared := fmt.Sprintf(`{"metadata": {"annotations": {"note": %q}}, "data": {"blackouts": "- {name: freeze, start: 2020-01-01T00:00:00Z, end: 2100-01-01T00:00:00Z}"}}`, note)
	calendar := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: calendarName, Namespace: framework.Namespace}}
	_, err := s.Kube.CoreV1().ConfigMaps(framework.Namespace).Create(s.Context(), calendar, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		s.Fatal(err)
	}
	_, err = s.Kube.CoreV1().ConfigMaps(framework.Namespace).Patch(s.Context(), calendarName, types.MergePatchType, []byte(declared), metav1.PatchOptions{})
	s.Must(err)
}

func (s *suite) thaw() {
	s.Helper()
	s.Must(s.Kube.CoreV1().ConfigMaps(framework.Namespace).Delete(s.Context(), calendarName, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
}

const calendarName = "fairlead-calendar"

// calendar waits until the metrics of the freeze are as wanted.
func (r *replica) calendar(readable, blackout float64) {
	r.suite.Helper()
	r.suite.Eventually(r.scrapable)
	r.suite.Eventually(func() error {
		gotReadable, err := r.metric("fairlead_calendar_readable")
		if err != nil {
			return err
		}
		gotBlackout, err := r.metric("fairlead_calendar_blackout")
		if err == nil && (gotReadable != readable || gotBlackout != blackout) {
			err = fmt.Errorf("readable %v, blackout %v; want %v, %v", gotReadable, gotBlackout, readable, blackout)
		}
		return err
	})
}

// Each answer is given for as long as the fault holds, whatever its words are.
func TestAFalseAnswerLiftsNoFreeze(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	p := s.newFaultProxy()
	s.freeze("none")
	leader := s.start("--kubeconfig=" + p.Kubeconfig)
	leader.reconciles()
	leader.calendar(1, 1)
	isCalendar := func(r faultproxy.Request) bool { return r.Verb == "get" && r.Name == calendarName }
	for name, answer := range map[string]faultproxy.Answer{
		"page 404": faultproxy.Page(http.StatusNotFound), "Status 404": faultproxy.Status(http.StatusNotFound),
		"page 403": faultproxy.Page(http.StatusForbidden), "Status 500": faultproxy.Status(http.StatusInternalServerError),
		"page 200": faultproxy.Page(http.StatusOK),
	} {
		fault := p.Add(faultproxy.Fault{Match: isCalendar, Answer: answer})
		s.freeze(name) // the watch shows a change, so it is read
		leader.calendar(0, 1)
		fault.Lift()
		leader.calendar(1, 1)
	}
	s.thaw()
	leader.calendar(1, 0)
}
