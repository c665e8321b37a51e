// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// kubeletLag is how long after another one a replica's folder changes. Nothing that is tested ends sooner by itself.
const kubeletLag = 20 * time.Second

// content makes a certificate of another authority.
func (s *suite) content() map[string]string {
	s.Helper()
	files, err := framework.Issue(time.Hour, framework.ServerName)
	s.Must(err)
	return files
}

// mount swaps the content of a folder, as a kubelet does.
func (s *suite) mount(path string, files map[string]string) {
	s.Helper()
	generation, err := os.MkdirTemp(path, "..generation")
	s.Must(err)
	for name, text := range files {
		s.Must(os.WriteFile(filepath.Join(generation, name), []byte(text), 0o600))
	}
	link := filepath.Join(path, "..data_next")
	s.Must(os.Symlink(filepath.Base(generation), link))
	s.Must(os.Rename(link, filepath.Join(path, "..data")))
	for name := range files {
		if at := filepath.Join(path, name); !exists(at) {
			s.Must(os.Symlink(filepath.Join("..data", name), at))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mounted are the arguments of a replica whose certificate is in a folder.
func mounted(path string) []string {
	return []string{"--set=webhook.certificates.source=folder", "--set=webhook.certificates.folder=" + path}
}

func TestTheFoldersOfReplicasMayChangeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	files, folders := s.content(), []string{t.TempDir(), t.TempDir()}
	var replicas []*framework.Replica
	for _, path := range folders {
		s.mount(path, files)
		replicas = append(replicas, s.start(1, mounted(path)...)...)
	}
	next := s.content()
	s.underLoad(func() []*framework.Replica { return replicas }, func() {
		s.mount(folders[0], next)
		select { // the folders differ for as long
		case <-s.Context().Done():
		case <-time.After(kubeletLag):
		}
		s.mount(folders[1], next)
		for _, r := range replicas {
			s.serves(r, func() []byte { return []byte(next["tls.crt"]) })
		}
	})
	// The old one stays trusted: a replica may serve under it until it expires.
	s.trusted(func() []byte { return []byte(files["ca.crt"] + next["ca.crt"]) })
}

// Each source follows each other one, with replicas of both beside each other.
func TestNoMoveBetweenTwoSourcesFailsARequest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	path := t.TempDir()
	s.mount(path, s.content())
	sources := map[string][]string{"selfSigned": nil, "certManager": {issuing}, "folder": mounted(path)}
	moves := [][]string{ // each pair of them in both directions
		{"folder", "selfSigned", "folder"}, {"certManager", "folder", "certManager"}, {"selfSigned", "certManager", "selfSigned"},
	}
	if !framework.Long() {
		moves = framework.Sample(framework.NewSampler(t), 1, moves[:2]) // TestTheSourceMayBeChangedByARollingUpdate has the third
	}
	var mu sync.Mutex // guards replicas, which the load reads
	replicas := s.start(2, sources[moves[0][0]]...)
	now := func() []*framework.Replica {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(replicas)
	}
	update := func(source string) {
		for range 2 {
			r := s.start(1, sources[source]...)[0]
			old := now()[0]
			mu.Lock()
			replicas = append(replicas[1:], r)
			mu.Unlock()
			s.Retire(old)
		}
	}
	for _, through := range moves {
		for i, source := range through {
			if i == 0 {
				update(source)
				continue
			}
			s.Logf("from %s to %s", through[i-1], source)
			s.underLoad(now, func() { update(source) })
		}
	}
}
