// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"context"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// rotateOnce runs replicas in which one rotation is requested and requests are handled in
// their order. It fails at the first certificate that an API server would refuse.
func rotateOnce(t *testing.T, replicas int, crash func(who *replica, what string) bool) *schedule {
	t.Helper()
	options, err := Options{LeafValidity: time.Minute, RootValidity: time.Hour, Client: replicaKube{}, rootCurve: elliptic.P256()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &schedule{
		simulation: newSimulation(t, options), options: options,
		random: rand.New(rand.NewPCG(1, 2)), lag: options.delays().Settle * 3 / 4,
	}
	for range replicas {
		s.addReplica()
	}
	s.until("the start", time.Minute, func() error { return s.unsettled(s.replicas) })
	s.requestRotation("now")
	s.crash = crash
	s.until("the end", 10*time.Minute, func() error {
		s.replaceCrashed()
		return s.unsettled(s.replicas)
	})
	return s
}

// TestARotationSurvivesACrashAfterEveryStep ends a replica, in one run after another, at each point
// of each request of a rotation: before it is done, and before its answer is heard.
func TestARotationSurvivesACrashAfterEveryStep(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		points, phases := 0, map[rotation.Phase]bool{}
		synctest.Test(t, func(t *testing.T) {
			s := rotateOnce(t, replicas, func(*replica, string) bool { points++; return false })
			s.stop()
		})
		for at := 1; at <= points && !t.Failed(); at++ {
			synctest.Test(t, func(t *testing.T) {
				point, where := 0, ""
				s := rotateOnce(t, replicas, func(who *replica, what string) bool {
					if point++; point == at {
						where = who.id + " at " + what
						return true
					}
					return false
				})
				defer s.stop()
				for kind, target := range s.targets {
					if target.changes != 2 {
						t.Errorf("crash %d (%s): %s was written %d times", at, where, kind, target.changes)
					}
					for _, line := range s.trace {
						for _, phase := range rotation.Phases() {
							phases[phase] = phases[phase] || strings.Contains(line, fmt.Sprintf("%q", phase))
						}
					}
				}
			})
		}
		t.Logf("%d replicas: %d points to crash at", replicas, points)
		if points < 40 || len(phases) != len(rotation.Phases()) || !phases[rotation.Retiring] {
			t.Errorf("%d points in phases %v: the rotation did not take place", points, phases)
		}
	}
}

func TestARotationThatCannotBeObservedKeepsTheFormerRootUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, log := newCluster(t), &logLines{}
		missing := errors.New("the bundle of another owner is there")
		source := prepared(t, Options{
			Client: client, LeafValidity: time.Minute, RootValidity: 10 * time.Minute, Log: log.logger(),
			Observe: func(context.Context, []byte) error { return missing },
		})
		first := source.stored.signer
		running(t, source)
		pass(9*time.Minute + 30*time.Second)
		if got := recordOf(t, source).Phase; got != rotation.Publishing {
			t.Errorf("the phase is %s", got)
		}
		if err := leafOf(t, source).CheckSignatureFrom(first.certificate()); err != nil {
			t.Errorf("a root that was not seen signs: %v", err)
		}
		pass(29 * time.Second)
		if err := leafOf(t, source).CheckSignatureFrom(first.certificate()); err != nil || time.Now().After(leafOf(t, source).NotAfter) {
			t.Errorf("the previous root does not sign to its end: %v", err)
		}
		if got := log.count("expired"); got != 0 {
			t.Errorf("%d lines about an expiry that is ahead", got)
		}
		pass(2 * time.Second)
		if err := leafOf(t, source).CheckSignatureFrom(source.stored.signer.certificate()); err != nil || source.stored.signer.certificate().Equal(first.certificate()) {
			t.Errorf("an expired root signs: %v", err)
		}
		if log.count("the next root signs though it was not seen everywhere") != 1 {
			t.Error("nothing is said about a root that signs unseen")
		}
		if log.count(missing.Error()) == 0 {
			t.Error("nothing is said about why")
		}
	})
}

func TestALeafOfOneMinuteIsRenewedAtFortySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := prepared(t, Options{Client: newCluster(t), LeafValidity: time.Minute})
		first := leafOf(t, source)
		running(t, source)
		pass(39 * time.Second)
		if !leafOf(t, source).Equal(first) {
			t.Error("renewed too early")
		}
		pass(2 * time.Second)
		if leafOf(t, source).Equal(first) {
			t.Error("not renewed")
		}
	})
}

func TestARootOfTenMinutesRotatesForAnHourWithoutARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, err := Options{LeafValidity: time.Minute, RootValidity: 10 * time.Minute, Client: replicaKube{}, rootCurve: elliptic.P256()}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		s := &schedule{
			simulation: newSimulation(t, options), options: options,
			random: rand.New(rand.NewPCG(3, 4)), lag: options.delays().Settle * 3 / 4,
		}
		for range 3 {
			s.addReplica()
		}
		defer s.stop()
		for time.Since(s.began) < time.Hour && !t.Failed() {
			s.step()
		}
		for kind, target := range s.targets {
			if target.changes < 10 || target.changes > 14 {
				t.Errorf("%s was written %d times, want twice for each of 6 rotations", kind, target.changes)
			}
		}
	})
}

func TestARotationIsAskedForOnceByEachValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		source := prepared(t, Options{Client: client, LeafValidity: time.Minute, Observe: seen})
		running(t, source)
		serials := map[string]bool{}
		for _, value := range []string{"one", "one", "two"} {
			changed := stored(t, client).DeepCopy()
			changed.Annotations[RotateAnnotation] = value
			update(t, client.CoreV1().Secrets(namespace).Update, changed)
			pass(5 * time.Minute)
			secret := stored(t, client)
			if got := secret.Annotations[RotatedAnnotation]; got != value {
				t.Errorf("recorded as done is %q, want %q", got, value)
			}
			if _, there := secret.Annotations[RotationAnnotation]; there || len(secret.Data) != 3 {
				t.Errorf("a rotation has left behind %v and %d keys", secret.Annotations, len(secret.Data))
			}
			serials[source.stored.signer.certificate().SerialNumber.String()] = true
		}
		if len(serials) != 2 {
			t.Errorf("%d roots by two values", len(serials))
		}
	})
}

func TestARecordAboutOtherRootsMeansNothing(t *testing.T) {
	now := time.Now()
	current, secret := rootAt(t, now)
	next, _ := rootAt(t, now)
	other, _ := rootAt(t, now)
	var err error
	if secret.Data[NextCertKey], secret.Data[NextPrivateKey], err = next.pair(); err != nil {
		t.Fatal(err)
	}
	about := rotationStatus{Phase: rotation.Publishing, Root: certs.Fingerprint(current.certificate()), Next: certs.Fingerprint(next.certificate())}
	for title, test := range map[string]struct {
		change func(*rotationStatus)
		want   rotation.Phase
	}{
		"of these":        {func(*rotationStatus) {}, rotation.Publishing},
		"another signs":   {func(r *rotationStatus) { r.Root = certs.Fingerprint(other.certificate()) }, rotation.Stable},
		"another is next": {func(r *rotationStatus) { r.Next = certs.Fingerprint(other.certificate()) }, rotation.Stable},
		"no phase":        {func(r *rotationStatus) { r.Phase = "Dancing" }, rotation.Stable},
		"without a next":  {func(r *rotationStatus) { r.Phase, r.Next = rotation.Signing, "" }, rotation.Signing},
	} {
		changed, written := secret.DeepCopy(), about
		test.change(&written)
		if err := written.writeTo(changed); err != nil {
			t.Fatal(err)
		}
		found, err := read(changed, now)
		if err != nil {
			t.Fatal(err)
		}
		if found.status.Phase != test.want {
			t.Errorf("%s: phase %s, want %s", title, found.status.Phase, test.want)
		}
		if (found.next != nil) != (test.want == rotation.Publishing) {
			t.Errorf("%s: the next root is there: %v", title, found.next != nil)
		}
	}
	changed := secret.DeepCopy()
	changed.Annotations[RotationAnnotation] = "{"
	if found, err := read(changed, now); err != nil || found.status.Phase != rotation.Stable {
		t.Errorf("junk: %v", err)
	}
}

func TestTheRootOfADeletedSecretIsTrustedNoLongerThanItsCertificatesLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		source := prepared(t, Options{Client: client, LeafValidity: time.Minute, Observe: seen})
		running(t, source)
		synctest.Wait()
		first := source.stored.signer.certificate()
		if err := client.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if got := len(source.stored.trustedRoots()); got < 2 || source.stored.signer.certificate().Equal(first) {
			t.Errorf("the deleted root signs, or is not trusted any more: %d roots", got)
		}
		pass(3 * time.Minute)
		for _, root := range source.stored.trustedRoots() {
			if root.Equal(first) {
				t.Error("the deleted root is trusted still")
			}
		}
	})
}

func TestLatestIsTheSecretAsItStandsAndNotAsItWas(t *testing.T) {
	client := newCluster(t)
	source := prepared(t, Options{Client: client})
	old := source.CABundle()
	next, secret := rootAt(t, time.Now())
	secret.ResourceVersion = stored(t, client).ResourceVersion
	update(t, client.CoreV1().Secrets(namespace).Update, secret)
	latest, err := source.Latest(t.Context())
	if err != nil || string(latest) != string((&storedCA{signer: next}).bundle()) {
		t.Errorf("not the Secret's: %v", err)
	}
	if string(source.CABundle()) != string(old) {
		t.Error("asking took the Secret up")
	}
	if err := client.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if latest, err := source.Latest(t.Context()); err == nil || latest != nil || !strings.Contains(err.Error(), namespace+"/"+name) {
		t.Errorf("a Secret that is gone: %q, %v", latest, err)
	}
}

func recordOf(t *testing.T, source *Authority) rotationStatus {
	t.Helper()
	source.mu.Lock()
	defer source.mu.Unlock()
	var found rotationStatus
	if err := json.Unmarshal([]byte(source.stored.secret.Annotations[RotationAnnotation]), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// seen is an Observe that always sees the bundle.
func seen(context.Context, []byte) error { return nil }

func TestThePhaseAndTheExpiryOfTheNextRootArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, registry := newCluster(t), prometheus.NewRegistry()
		published := false
		source := prepared(t, Options{
			Client: client, LeafValidity: time.Minute, Registerer: registry,
			Observe: func(context.Context, []byte) error {
				if published {
					return nil
				}
				return certs.ErrBundleMissing
			},
		})
		running(t, source)
		changed := stored(t, client).DeepCopy()
		changed.Annotations[RotateAnnotation] = "now"
		update(t, client.CoreV1().Secrets(namespace).Update, changed)
		pass(time.Minute)
		if got := series(t, registry); got["Publishing"] != 1 || got["Stable"] != 0 || got["next"] <= float64(time.Now().Unix()) || got["serving"] >= got["root"] {
			t.Errorf("while a root is published: %v", got)
		}
		published = true
		pass(5 * time.Minute)
		got := series(t, registry)
		if _, there := got["next"]; there || got["Stable"] != 1 || got["Publishing"] != 0 {
			t.Errorf("after the rotation: %v", got)
		}
	})
}

// series are the values of all gauges, by their one label.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetGauge() != nil {
				all[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	return all
}
