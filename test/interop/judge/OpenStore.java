import com.alibaba.fastjson2.JSONArray;
import com.alibaba.fastjson2.JSONObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.BoundaryType;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.protocol.filter.FilterAPI;
import org.apache.rocketmq.store.DefaultMessageFilter;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.GetMessageStatus;
import org.apache.rocketmq.store.MessageFilter;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.SelectMappedBufferResult;
import org.apache.rocketmq.store.StoreCheckpoint;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** One open directory and the questions about it. */
final class OpenStore {
    private static final int PAGE = 32;
    private static final int ALL_BYTES = 128 * 1024 * 1024;

    private final DefaultMessageStore store;

    OpenStore(String path, JSONObject options) throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(path);
        config.setStorePathCommitLog(path + "/commitlog");
        config.setHaListenPort(0);
        config.setEnableCompaction(false);
        config.setTimerWheelEnable(false);
        config.setDiskMaxUsedSpaceRatio(95);
        Properties given = new Properties();
        for (String name : options.keySet()) given.setProperty(name, options.getString(name));
        MixAll.properties2Object(given, config);
        BrokerConfig broker = new BrokerConfig();
        broker.setLongPollingEnable(false);
        store = new DefaultMessageStore(config, new BrokerStatsManager("judge", true),
            (topic, queueId, offset, tagsCode, time, filter, properties) -> { }, broker, new ConcurrentHashMap<>());
        if (!store.load()) throw new IllegalStateException("The store does not load.");
        store.start();
        settle();
    }

    Object answer(JSONObject question) throws Exception {
        switch (question.getString("op")) {
            case "put": return put(question.getJSONArray("messages"));
            case "settle": settle(); return bounds();
            case "queues": return queues();
            case "read": return read(question.getString("topic"), question.getIntValue("queueId"));
            case "get": return get(question);
            case "key": return byKey(question);
            case "look": return look(question);
            case "time": return byTime(question);
            case "checkpoint": return checkpoint();
            case "halt": Runtime.getRuntime().halt(137); // nothing is flushed, closed or noted
            default: throw new IllegalArgumentException(question.toString());
        }
    }

    void close() {
        store.shutdown();
    }

    Object bounds() {
        return Map.of("min", Math.max(0, store.getMinPhyOffset()), "max", store.getMaxPhyOffset());
    }

    private void settle() throws InterruptedException {
        while (store.dispatchBehindBytes() > 0) Thread.sleep(2);
    }

    private Object put(JSONArray messages) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (int i = 0; i < messages.size(); i++) {
            JSONObject message = messages.getJSONObject(i);
            PutMessageResult result = message.containsKey("batch")
                ? store.putMessages(Messages.batch(message))
                : store.putMessage(Messages.single(message));
            if (!result.isOk()) {
                answers.add(Map.of("refused", String.valueOf(result.getPutMessageStatus())));
                continue;
            }
            answers.add(Map.of(
                "physicalOffset", result.getAppendMessageResult().getWroteOffset(),
                "size", result.getAppendMessageResult().getWroteBytes(),
                "queueOffset", result.getAppendMessageResult().getLogicsOffset(),
                "storeTimestamp", result.getAppendMessageResult().getStoreTimestamp(),
                "msgId", result.getAppendMessageResult().getMsgId()));
        }
        return answers;
    }

    private Object queues() {
        List<Object> answers = new ArrayList<>();
        store.getConsumeQueueTable().forEach((topic, queues) -> queues.forEach((queueId, queue) ->
            answers.add(Map.of("topic", topic, "queueId", queueId,
                "minOffset", queue.getMinOffsetInQueue(), "maxOffset", queue.getMaxOffsetInQueue()))));
        return answers;
    }

    /** Every message of a queue, as a consumer would get it. */
    private Object read(String topic, int queueId) throws Exception {
        List<Object> answers = new ArrayList<>();
        for (long at = store.getMinOffsetInQueue(topic, queueId); ; ) {
            GetMessageResult page = store.getMessage("judge", topic, queueId, at, PAGE, ALL_BYTES, null);
            if (page == null) return answers;
            try {
                for (int i = 0; i < page.getMessageCount(); i++) {
                    SelectMappedBufferResult found = page.getMessageMapedList().get(i);
                    answers.add(Messages.described(page.getMessageQueueOffset().get(i),
                        MessageDecoder.decode(found.getByteBuffer().duplicate(), true, false),
                        MessageDecoder.decode(found.getByteBuffer(), true, true).getBody()));
                }
                if (page.getNextBeginOffset() <= at) return answers;
                at = page.getNextBeginOffset();
            } finally {
                page.release();
            }
        }
    }

    private Object get(JSONObject q) throws Exception {
        String topic = q.getString("topic");
        String tags = q.getString("tags");
        MessageFilter filter =
            tags == null ? null : new DefaultMessageFilter(FilterAPI.buildSubscriptionData(topic, tags));
        GetMessageResult page = store.getMessage("judge", topic, q.getIntValue("queueId"),
            q.getLongValue("offset"), q.getIntValue("max"), ALL_BYTES, filter);
        try {
            boolean found = page.getStatus() == GetMessageStatus.FOUND;
            return Map.of("status", page.getStatus().name(), "nextOffset", page.getNextBeginOffset(),
                "minOffset", page.getMinOffset(), "maxOffset", page.getMaxOffset(),
                "offsets", found ? page.getMessageQueueOffset() : List.of());
        } finally {
            page.release();
        }
    }

    private Object byKey(JSONObject q) {
        QueryMessageResult result = store.queryMessage(q.getString("topic"), q.getString("key"),
            q.getIntValue("max"), q.getLongValue("begin"), q.getLongValue("end"));
        List<Object> answers = new ArrayList<>();
        for (SelectMappedBufferResult found : result.getMessageMapedList()) {
            MessageExt message = MessageDecoder.decode(found.getByteBuffer(), false, false);
            List<String> keys = new ArrayList<>();
            if (message.getKeys() != null) keys.addAll(List.of(message.getKeys().split(" ")));
            String unique = message.getProperty(MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX);
            if (unique != null) keys.add(unique);
            answers.add(Map.of("topic", message.getTopic(), "keys", keys,
                "position", message.getCommitLogOffset(), "time", message.getStoreTimestamp()));
        }
        result.release();
        return answers;
    }

    private Object look(JSONObject q) {
        MessageExt message = store.lookMessageByOffset(q.getLongValue("position"));
        return Map.of("topic", message.getTopic(), "queueOffset", message.getQueueOffset());
    }

    private Object byTime(JSONObject q) {
        return store.getOffsetInQueueByTime(q.getString("topic"), q.getIntValue("queueId"),
            q.getLongValue("time"), BoundaryType.valueOf(q.getString("bound")));
    }

    private Object checkpoint() {
        StoreCheckpoint checkpoint = store.getStoreCheckpoint();
        return Map.of("physicMsgTimestamp", checkpoint.getPhysicMsgTimestamp(),
            "logicsMsgTimestamp", checkpoint.getLogicsMsgTimestamp(),
            "indexMsgTimestamp", checkpoint.getIndexMsgTimestamp());
    }
}
