// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// objects are one of each kind at v1alpha1.
const objects = `
apiVersion: networking.fairlead.dev/v1alpha1
kind: ExternalService
metadata: {name: billing-db, namespace: shop}
spec: {ports: [{name: http, port: 80}], endpoints: [{name: host-0, addresses: [192.0.2.1]}]}
---
apiVersion: autoreboot.fairlead.dev/v1alpha1
kind: RebootPolicy
metadata: {name: billing, namespace: shop}
spec: {targets: [{kind: Deployment, name: billing}], cooldown: 10m, policies: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}
---
apiVersion: chaos.fairlead.dev/v1alpha1
kind: ChaosPod
metadata: {name: billing, namespace: shop}
spec: {template: {spec: {containers: [{name: pause, image: pause, imagePullPolicy: Never}]}}}
`

var services = schema.GroupVersionResource{Group: "networking.fairlead.dev", Version: "v1alpha1", Resource: "externalservices"}

// One story, as its steps depend on each other: install from an earlier chart, upgrade in each of Helm's three ways of values, roll
// back, uninstall. The date chooses Helm 3 or Helm 4, and a long run has both.
func TestAnInstallationByChartIsUpgradedRolledBackAndRemoved(t *testing.T) {
	if os.Getenv(nodeVariable) == "" {
		t.Parallel() // beside the other tests, and not before them
	}
	today := time.Now().UTC().YearDay() % 2
	for n, version := range []string{"Helm 3", "Helm 4"} {
		if n != today && os.Getenv("FAIRLEAD_TEST_LONG") == "" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			s := newSuite(t)
			s.helm3 = version == "Helm 3"
			s.isUpgradedRolledBackAndRemoved()
		})
	}
}

func (s *suite) isUpgradedRolledBackAndRemoved() {
	s.kubectl("create", "namespace", "shop")
	isNode := os.Getenv(nodeVariable) != ""
	if isNode {
		s.hasCertManager()
	}
	before := s.everything()

	s.install("fairlead-system", former, nil)
	s.apply(objects)
	s.hasObjects()

	requests := s.requests()
	s.upgrade("fairlead-system", current, upgradeFlags{resetThenReuseValues: true}, nil)
	s.hasObjects()
	output := s.sound()
	for _, want := range []string{
		"ok: Deployment fairlead-system/fairlead-manager: 2 of 2 replicas are available\n",
		"ok: CustomResourceDefinition externalservices.networking.fairlead.dev: serves v1 and v1alpha1, stores v1\n",
		"ok: Secret fairlead-system/fairlead-webhook-ca: the authority is valid for 36",
		"ok: ExternalService at v1alpha1: created by a dry run in namespace shop\n", "ok: ChaosPod at v1: created by a dry run in namespace shop\n",
		"ok: ServiceAccount fairlead-system/fairlead-manager: it has all ",
	} {
		if !strings.Contains(output, want) {
			s.Errorf("lacks %q:\n%s", want, output)
		}
	}
	requests.end("upgrade by the chart")
	s.helmTest("fairlead-system", authority)
	if isNode {
		s.issues()
	}

	requests = s.requests()
	s.rollback("fairlead-system", 1)
	s.hasObjects()
	s.apply(strings.ReplaceAll(objects, "192.0.2.1", "192.0.2.2"))
	s.published("192.0.2.2")
	requests.end("rollback by the chart")

	requests = s.requests()
	s.upgrade("fairlead-system", current, upgradeFlags{}, map[string]any{"layout": "split"})
	s.upgrade("fairlead-system", current, upgradeFlags{reuseValues: true}, nil)
	if output := s.sound(); !strings.Contains(output, "Deployment fairlead-system/fairlead-webhook: 2 of 2 replicas are available\n") {
		s.Errorf("the layout was not kept:\n%s", output)
	}
	s.hasObjects()
	requests.end("upgrade to the split layout by the chart")

	guide := s.guide()
	s.run(guide["orphan"])
	s.eventually(func() error {
		if policy := s.kubectl("get", "externalservices.v1.networking.fairlead.dev", "billing-db", "-n", "shop", "-o", "jsonpath={.spec.deletionPolicy}"); policy != "Orphan" {
			return fmt.Errorf("deletionPolicy is %q", policy)
		}
		return nil
	})
	s.run(guide["order"])
	s.eventually(func() error { return s.onlyLeft(before, orphaned) })
}

// publish removes what the operator has written as an authority, and writes it as docs/guides/namespaced.md says.
func (s *suite) publish() {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "namespaced.md"))
	s.must(err)
	block := regexp.MustCompile("(?ms)^```console\n(\\$ bundle=.*?)^```").FindStringSubmatch(string(text))
	if len(block) != 2 {
		s.Fatal("docs/guides/namespaced.md has no commands that copy the bundle")
	}
	s.eventually(func() error { // a pod of before, which may still stop, writes it again
		s.kubectl("patch", "mutatingwebhookconfiguration", "fairlead-externalservice", "--type=json", "-p", `[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]`)
		if output, code := s.check("--namespace=shop"); code != 1 || !strings.Contains(output, "is empty") {
			return fmt.Errorf("without a bundle the check ends with %d:\n%s", code, output)
		}
		return nil
	})
	s.run([]string{regexp.MustCompile(`(?m)^\$ `).ReplaceAllString(block[1], "")})
}

// orphaned is what an ExternalService leaves with deletionPolicy Orphan.
var orphaned = regexp.MustCompile(`^(services\. shop/billing-db|endpointslices\.discovery\.k8s\.io shop/billing-db-.*|ipaddresses\.networking\.k8s\.io .*)$`)

// onlyLeft wants nothing but these to be left, and some of them.
func (s *suite) onlyLeft(before map[string]bool, documented *regexp.Regexp) error {
	left := s.left(before)
	others := slices.DeleteFunc(slices.Clone(left), documented.MatchString)
	if len(others) > 0 {
		return fmt.Errorf("there is left:\n%s", strings.Join(others, "\n"))
	}
	if len(left) == 0 {
		return errors.New("the orphaned Service is gone")
	}
	return nil
}

// hasObjects wants each kind to be there at both versions, and the ExternalService to be published.
func (s *suite) hasObjects() {
	s.Helper()
	for _, version := range []string{"v1", "v1alpha1"} {
		for _, object := range []string{"externalservices.%s.networking.fairlead.dev/billing-db", "rebootpolicies.%s.autoreboot.fairlead.dev/billing", "chaospods.%s.chaos.fairlead.dev/billing"} {
			s.kubectl("get", fmt.Sprintf(object, version), "-n", "shop")
		}
	}
	s.published("192.0.2.")
}

// published wants an EndpointSlice to hold the address.
func (s *suite) published(address string) {
	s.Helper()
	s.eventually(func() error {
		slices, err := s.kube.DiscoveryV1().EndpointSlices("shop").List(s.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=billing-db"})
		if err != nil {
			return err
		}
		if text := fmt.Sprint(slices.Items); !strings.Contains(text, address) {
			return fmt.Errorf("%s is not published: %.500s", address, text)
		}
		return nil
	})
}

// helmTest is `helm test`: the pod that it makes checks with the rights of its own ServiceAccount, and says which Secret of the
// certificates it leaves out for want of one.
func (s *suite) helmTest(namespace, secret string) {
	s.Helper()
	printed := s.follow("fairlead-check") // Helm deletes the pod, and the kubelet what it has printed
	var err error
	if s.helm3 {
		err = s.testByHelm3(namespace)
	} else {
		err = s.testByHelm4(namespace)
	}
	output := printed()
	if err != nil || !strings.Contains(output, " 0 failed, 0 unchecked,") || !strings.Contains(output, "\nskipped: Secret "+namespace+"/"+secret+": you have no permission to read it") {
		s.Fatalf("helm test: %v\n%s", err, output)
	}
	if _, err := s.kube.RbacV1().ClusterRoles().Get(s.Context(), "fairlead-check", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		s.Errorf("the ClusterRole of the test is left: %v", err)
	}
}

// follow reads what pods whose name begins so print, until the returned function is called, which returns all of it.
func (s *suite) follow(prefix string) func() string {
	ctx, stop := context.WithCancel(s.Context())
	read := make(chan string, 1)
	go func() {
		var all string
		for ctx.Err() == nil {
			if now := s.output(prefix); len(now) >= len(all) {
				all = now
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
		read <- all
	}()
	return func() string { stop(); return <-read }
}

func (s *suite) testByHelm4(namespace string) error {
	test := action.NewReleaseTesting(s.helm(namespace))
	test.Namespace, test.Timeout = namespace, patience
	_, done, err := test.Run("fairlead")
	if err == nil && done != nil {
		err = done()
	}
	return err
}

// seesDefects breaks an installation in its team-system and wants the check to tell.
func (s *suite) seesDefects() {
	s.Helper()
	told := func(want string) {
		s.Helper()
		s.eventually(func() error {
			if output, code := s.check("--namespace=shop"); code != 1 || !strings.Contains(output, "\n"+want) {
				return fmt.Errorf("ends with %d and lacks %q:\n%s", code, want, output)
			}
			return nil
		})
	}
	binding := "team-fairlead-manager"
	role, err := s.kube.RbacV1().ClusterRoleBindings().Get(s.Context(), binding, metav1.GetOptions{})
	s.must(err)
	s.kubectl("delete", "clusterrolebinding", binding)
	told("failed: ServiceAccount team-system/team-fairlead-manager: it lacks ")
	role.ResourceVersion, role.UID = "", ""
	_, err = s.kube.RbacV1().ClusterRoleBindings().Create(s.Context(), role, metav1.CreateOptions{})
	s.must(err)

	s.kubectl("scale", "-n", "team-system", "deployment/team-fairlead-webhook", "--replicas=0")
	told("failed: Deployment team-system/team-fairlead-webhook: it has no replicas")
	told("failed: ExternalService at v1alpha1: ")
	s.kubectl("scale", "-n", "team-system", "deployment/team-fairlead-webhook", "--replicas=2")
	s.sound()
	// The namespace that the webhooks leave out.
	if output, code := s.check("--namespace=team-system"); code != 2 || !strings.Contains(output, "does not look at namespace team-system") {
		s.Errorf("ends with %d:\n%s", code, output)
	}
	// A user without any right.
	user, err := s.local.User("guest")
	s.must(err)
	if output, code := s.check("--namespace=shop", "--kubeconfig="+user.Kubeconfig); code != 2 || !strings.Contains(output, "grant get on customresourcedefinitions") {
		s.Errorf("without rights it ends with %d:\n%s", code, output)
	}
}

// load reads at v1alpha1 and tries writes at v1, several requests beside each other and none a second time.
type load struct {
	*suite
	stop  context.CancelFunc
	ended sync.WaitGroup
	began time.Time

	mu     sync.Mutex // guards what follows
	took   []time.Duration
	failed int
	first  error
}

// clients is how many send requests beside each other.
const clients = 4

// authority is the Secret of the operator's own authority.
const authority = "fairlead-webhook-ca"

func (s *suite) requests() *load {
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	l := &load{suite: s, stop: cancel, began: time.Now()}
	for range clients {
		l.ended.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.send(ctx, i%2 == 0)
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return l
}

func (l *load) send(ctx context.Context, read bool) {
	began := time.Now()
	var err error
	if read {
		_, err = l.dynamic.Resource(services).Namespace("shop").Get(ctx, "billing-db", metav1.GetOptions{})
	} else {
		_, err = l.dynamic.Resource(services.GroupResource().WithVersion("v1")).Namespace("shop").Patch(ctx, "billing-db", types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"tried": "yes"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(began))
	if err != nil {
		if l.failed++; l.first == nil {
			l.first = err
		}
	}
}

// end wants no request to have failed.
func (l *load) end(during string) {
	l.Helper()
	l.stop()
	l.ended.Wait()
	f := figures{Scenario: during, Sent: len(l.took), Failed: l.failed, P50: percentile(l.took, 50), P99: percentile(l.took, 99), Took: time.Since(l.began)}
	l.figures = append(l.figures, f)
	l.Logf("%s: %d requests, %d failed", during, f.Sent, f.Failed)
	if f.Failed > 0 || f.Sent < 20 {
		l.Errorf("%s: %d of %d requests failed, the first with: %v", during, f.Failed, f.Sent, l.first)
	}
}

// guide are the commands of docs/guides/uninstall.md, by the word behind console.
func (s *suite) guide() map[string][]string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "uninstall.md"))
	s.must(err)
	commands := map[string][]string{}
	for _, block := range regexp.MustCompile("(?ms)^```console ?(\\w*)\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[2]) {
			command, found := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if !found {
				s.Fatalf("%q is no command", line)
			}
			commands[block[1]] = append(commands[block[1]], command)
		}
	}
	for _, word := range []string{"orphan", "order", "stuck", "keep"} {
		if len(commands[word]) == 0 {
			s.Fatalf("the guide has no block %s: %v", word, commands)
		}
	}
	if len(commands) != 4 {
		s.Fatalf("the guide has blocks that are not run: %v", commands)
	}
	return commands
}

// run runs commands in a shell with kubectl. Those of helm are made by its library, whose post-renderer has no
// command line here.
func (s *suite) run(commands []string) {
	s.Helper()
	for _, text := range commands {
		if text == "helm uninstall fairlead -n fairlead-system --wait" {
			s.uninstall("fairlead-system")
			continue
		}
		ctx, cancel := context.WithTimeout(s.Context(), patience)
		command := exec.CommandContext(ctx, "sh", "-c", text)
		command.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "PATH="+s.programs+":/usr/bin:/bin")
		output, err := command.CombinedOutput()
		cancel()
		if err != nil {
			s.Fatal(s.told(fmt.Errorf("%s: %w: %s", text, err, bytes.TrimSpace(output))))
		}
	}
}
