// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/pauses/pausetest"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
	"github.com/fairlead-dev/fairlead/webhooks/server"
)

// memoryOfAContainer is the limit of config/manager, in bytes.
const memoryOfAContainer = 512 << 20

// serveInAChild is the variable that has the test's program serve webhooks, as the operator does.
const serveInAChild = "FAIRLEAD_TEST_SERVE_WEBHOOKS"

func TestMain(m *testing.M) {
	if os.Getenv(serveInAChild) != "" {
		if err := serveAlone(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // the main of a test
		}
		return
	}
	os.Exit(m.Run()) //nolint:forbidigo // the main of a test
}

// serveAlone serves the webhooks until the input ends. It begins when a line comes, by when it may have been
// put into a cgroup, and says where it listens.
func serveAlone() error {
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	logger := funcr.New(func(prefix, args string) { _, _ = fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{})
	LimitMemory(logger)
	by := (&assembly{kinds: allKinds(), config: options.Default(), logger: logger}).handlers(allowingAll(), func(conversion.Failure) {})
	certificate, err := selfMade()
	if err != nil {
		return err
	}
	s := server.New(server.Options{
		Host: "127.0.0.1", Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil },
		Memory: requestMemory(),
	})
	for path, handler := range by {
		s.Register(path, handler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = input.ReadString('\n')
		cancel()
	}()
	go func() {
		if s.WaitReady(ctx) == nil {
			fmt.Println(s.Addr())
		}
	}()
	return s.Start(ctx)
}

func selfMade() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// cgroup puts a process into one of its own whose memory is bounded, and returns the file that tells the
// times that the kernel killed for that. It is removed once end has ended the process. It fails where this
// process may not make one.
func cgroup(t *testing.T, pid, limit int, end func()) (events string, err error) {
	t.Helper()
	name := fmt.Sprintf("fairlead-test-%d", os.Getpid())
	var folder string
	for root, files := range map[string][2]string{
		"/sys/fs/cgroup/memory": {"memory.limit_in_bytes", "memory.oom_control"},
		"/sys/fs/cgroup":        {"memory.max", "memory.events"},
	} {
		folder = filepath.Join(root, name)
		if _, missing := os.Stat(filepath.Join(root, "cgroup.procs")); missing != nil {
			continue
		}
		if err = os.Mkdir(folder, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			end() // one with a process in it stays
			_ = os.Remove(folder)
		})
		if err = os.WriteFile(filepath.Join(folder, files[0]), []byte(strconv.Itoa(limit)), 0o644); err == nil {
			err = os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		}
		if err == nil {
			return filepath.Join(folder, files[1]), nil
		}
	}
	if err == nil {
		err = os.ErrNotExist
	}
	return "", err
}

// worst are the reviews that cost most of those that TestNoReviewCostsMoreThanItsWeight tries, and are as large
// as what etcd takes.
func worst() (all []tried) {
	const size = 830_000
	for _, size := range []int{100_000, size} {
		object := fmt.Appendf(nil, `{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","spec":{"endpoints":[{"name":"a","addresses":[%s]}]}}`,
			repeat(size, func(int) string { return `"a"` }))
		body := admissionBody("networking.fairlead.dev", "ExternalService", "CREATE", object, []byte("null"), hub)
		for range 16 {
			all = append(all, tried{"addresses that are none", "/validate-networking-fairlead-dev-v1-externalservice", body})
		}
		object = fmt.Appendf(nil, `{"apiVersion":"chaos.fairlead.dev/v1","kind":"ChaosPod","spec":{"filter":{"exclude":{"matchExpressions":[{"key":"a","operator":"In","values":[%s]}]}}}}`,
			repeat(size, func(int) string { return `"0 0 30 2 *"` }))
		body = admissionBody("chaos.fairlead.dev", "ChaosPod", "UPDATE", object, object, spoke)
		for range 16 {
			all = append(all, tried{"values that are none", "/validate-chaos-fairlead-dev-v1-chaospod", body})
		}
	}
	for kind, group := range groups {
		for _, version := range []string{hub, spoke} {
			other := map[string]string{hub: spoke, spoke: hub}[version]
			for _, shape := range []string{"many members", "many numbers", "many named items", "quotes", "escapes", "many small objects"} {
				value := shapes[shape](size)
				for _, body := range []string{
					fmt.Sprintf(`"spec":{"x":%s}`, value), fmt.Sprintf(`"spec":{},"status":{"x":%s}`, value),
					fmt.Sprintf(`"metadata":{"annotations":{"example.com/x":%q}},"spec":{}`, `{"x":`+value[:len(value)/2]+`}`),
				} {
					object := fmt.Appendf(nil, `{"apiVersion":"%s.fairlead.dev/%s","kind":%q,%s}`, group, version, kind, body)
					all = append(all, tried{kind + " " + version + " of " + shape, conversion.Path, conversionBody(group+".fairlead.dev/"+other, object)})
					if version == hub {
						for _, hook := range []string{"mutate", "validate"} {
							path := "/" + hook + "-" + group + "-fairlead-dev-v1-" + strings.ToLower(kind)
							all = append(all, tried{kind + " of " + shape, path, admissionBody(group+".fairlead.dev", kind, "UPDATE", object, object, spoke)})
						}
					}
				}
			}
		}
	}
	return all
}

// The process has the memory of the shipped container, and is sent 64 of the worst reviews at once for as
// long as each was sent once.
func TestTheWorstReviewsDoNotCostTheProcessItsLifeNorOthersTheirAnswer(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), serveInAChild+"=1")
	var said bytes.Buffer
	child.Stderr = &said
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	inCgroup := true
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceValue(child.Wait)
	end := func() {
		_ = child.Process.Kill()
		_ = ended()
	}
	t.Cleanup(end)
	events, err := cgroup(t, child.Process.Pid, memoryOfAContainer, end)
	if err != nil {
		inCgroup = false
		t.Logf("this machine lets the test make no memory cgroup (%v), so the kernel bounds nothing here; the peak of the process's memory is compared with %d MiB instead", err, memoryOfAContainer>>20)
	}
	if _, err := io.WriteString(input, "\n"); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	url := "https://" + strings.TrimSpace(address)
	client := func() *http.Client {
		return &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	}

	hostile, next := worst(), atomic.Int64{}
	var (
		attacking sync.WaitGroup
		codes     sync.Map
		over      = make(chan struct{})
	)
	for range 64 {
		attacking.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(hostile)); i = next.Add(1) - 1 {
				r := hostile[i]
				answer, err := client().Post(url+r.path+"?timeout=30s", "application/json", bytes.NewReader(r.body))
				code := "no answer"
				if err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
					code = answer.Status
				}
				n, _ := codes.LoadOrStore(code, new(atomic.Int64))
				n.(*atomic.Int64).Add(1)
			}
		})
	}
	go func() {
		attacking.Wait()
		close(over)
	}()
	good := conversionBody("networking.fairlead.dev/v1alpha1", []byte(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService",`+
		`"metadata":{"name":"a","namespace":"b"},"spec":{"ports":[{"name":"http","port":80}],"endpoints":[{"name":"a","addresses":["192.0.2.1"]}]}}`))
	var slowest time.Duration
	sent := 0
	for going := true; going; sent++ {
		select {
		case <-over:
			going = false
		case <-time.After(20 * time.Millisecond):
		}
		pausetest.Retry(t, func() error {
			start := time.Now()
			answer, err := client().Post(url+conversion.Path+"?timeout=30s", "application/json", bytes.NewReader(good))
			if err != nil {
				return fmt.Errorf("a good request failed after %s, %d before were answered: %w\n%s", time.Since(start), sent, err, said.String())
			}
			body, err := io.ReadAll(answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil || !bytes.Contains(body, []byte(`"Success"`)) {
				return errors.Join(err, fmt.Errorf("a good request was answered %s %.300s", answer.Status, body))
			}
			took := time.Since(start)
			if slowest = max(slowest, took); took > 5*time.Second {
				return fmt.Errorf("a good request took %s", took)
			}
			return nil
		})
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Process.Pid))
	if err != nil {
		t.Fatalf("the process has ended: %v\n%s", err, said.String())
	}
	var peak int64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &peak); err == nil {
			peak <<= 10
		}
	}
	codes.Range(func(code, n any) bool {
		t.Logf("hostile reviews answered %s: %d", code, n.(*atomic.Int64).Load())
		return true
	})
	t.Logf("in a cgroup: %t; %d hostile reviews; %d good ones, the slowest took %s; peak %d MiB",
		inCgroup, len(hostile), sent, slowest.Round(time.Millisecond), peak>>20)
	if peak == 0 || peak >= memoryOfAContainer {
		t.Errorf("the process had %d MiB at its peak", peak>>20)
	}
	if inCgroup {
		if !strings.Contains(said.String(), "follows the container's") {
			t.Errorf("the process does not know the memory that it has: %.2000s", said.String())
		}
		told, err := os.ReadFile(events)
		if err != nil || !strings.Contains(string(told), "oom_kill 0") {
			t.Errorf("the kernel killed for memory: %s %v", told, err)
		}
	}
	if err := child.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process has ended: %v", err)
	}
}
